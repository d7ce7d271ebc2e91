package api

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Optional is a field of a merge patch (RFC 7396): absent leaves the value as
// it is, null or an empty text clears it, anything else sets it.
type Optional[T any] struct {
	Value T
	// Set is true when the field was in the document, null included.
	Set bool
	// Null is true when the field was null or "".
	Null bool
}

// Some is a field that sets a value.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Set: true} }

// Clear is a field that clears a value.
func Clear[T any]() Optional[T] { return Optional[T]{Set: true, Null: true} }

// Get is the value to set, the zero value where the field clears, and whether
// the field was there at all.
func (o Optional[T]) Get() (T, bool) { return o.Value, o.Set }

// Or is the value where one was given, fallback where the field was absent.
func (o Optional[T]) Or(fallback T) T {
	if o.Set {
		return o.Value
	}
	return fallback
}

// IsZero makes `omitzero` leave an absent field out.
func (o Optional[T]) IsZero() bool { return !o.Set }

// MarshalJSON writes null for a cleared field.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.Set || o.Null {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON is called only when the field is in the document.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	var zero T
	o.Value, o.Set, o.Null = zero, true, false
	if clears(bytes.TrimSpace(data)) {
		o.Null = true
		return nil
	}
	return json.Unmarshal(data, &o.Value)
}

// clears reports whether a value takes away the one that is there.
func clears(raw []byte) bool { return string(raw) == "null" || string(raw) == `""` }

// OptionalOf tells the schema generator what type the field holds.
func (o Optional[T]) OptionalOf() reflect.Type { return reflect.TypeFor[T]() }
