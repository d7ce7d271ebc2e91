package app

import (
	"errors"
	"strings"

	"bm/cli/output"
	"bm/server/api"
)

// Typed is an argument as it is typed in a shell.
func Typed(arg string) string {
	arg = output.Clean(arg)
	if arg != "" && strings.Trim(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@%+,=") == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// Named tells what a server says of a field of its own about what the person
// wrote instead: names has what begins the sentence about a field.
func Named(err error, names map[string]string) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != api.CodeValidation || len(e.Details) == 0 {
		return err
	}
	field := strings.TrimPrefix(e.Details[0].Field, "body.")
	field, _, _ = strings.Cut(field, "[")
	name := names[field]
	if name == "" {
		return err
	}
	message := strings.TrimSuffix(output.Clean(e.Details[0].Message), ".")
	return Fail(Usage, "%s %s.", name, message).Because(err)
}
