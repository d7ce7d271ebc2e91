package api

import "log/slog"

// Secret is a text that must not be shown or logged: printing it prints dots.
// JSON carries it as it is.
type Secret string

const hidden = "•••"

func (s Secret) String() string { return hidden }

// GoString hides it from %#v.
func (s Secret) GoString() string { return hidden }

// LogValue hides it from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// Reveal is the text itself, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }
