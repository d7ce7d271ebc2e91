package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Overlay gives the flags that were not on the command line their values from
// the environment and from a TOML file: flag > environment > file > default.
// The variable of a flag is its name in capitals behind prefix, its key in the
// file the name itself; an empty variable is none. A variable or key that names no flag is an error: a
// setting with a typo must not be taken for one that holds.
func Overlay(flags *pflag.FlagSet, prefix string, environ []string, file string) error {
	env := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, prefix) && value != "" {
			env[name] = value
		}
	}
	values := map[string]any{}
	if file != "" {
		v, err := read(file)
		if err != nil {
			return err
		}
		if v == nil {
			return fmt.Errorf("--config: there is no file %s", file)
		}
		// It may hold the password of a database.
		if _, err := CloseToOthers(file); err != nil {
			return err
		}
		values = v.AllSettings()
	}
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := prefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		fromEnv, inEnv := env[variable]
		fromFile, inFile := values[f.Name]
		delete(env, variable)
		delete(values, f.Name)
		if f.Changed || failed != nil {
			return
		}
		switch {
		case inEnv:
			if err := flags.Set(f.Name, fromEnv); err != nil {
				failed = unfit(variable, err)
			}
		case inFile:
			if err := flags.Set(f.Name, flat(fromFile)); err != nil {
				failed = unfit(f.Name+" in "+file, err)
			}
		}
	})
	if failed != nil {
		return failed
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		return fmt.Errorf("%s: there is no such setting", name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		return fmt.Errorf("%s in %s: there is no such setting", name, file)
	}
	return nil
}

// unfit says that a setting's value is none, where err says that of a flag's.
func unfit(setting string, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("%s: %q: %s", setting, invalid.GetValue(), Wanted(invalid))
	}
	return fmt.Errorf("%s: %w", setting, err)
}

// Wanted says what a flag takes in place of the value that it does not.
func Wanted(invalid *pflag.InvalidValueError) string {
	switch invalid.GetFlag().Value.Type() {
	case "int", "int64", "uint", "uint16":
		if errors.Is(invalid, strconv.ErrRange) {
			return "a smaller number is wanted"
		}
		return "a number is wanted"
	case "bool":
		return "it is on or off: true or false is wanted"
	case "duration":
		return "a time such as 30s or 5m is wanted"
	}
	return strings.TrimSuffix(invalid.Unwrap().Error(), ".")
}

// flat is a value of a file as a flag takes it.
func flat(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	parts := make([]string, len(list))
	for i := range list {
		parts[i] = fmt.Sprint(list[i])
	}
	return strings.Join(parts, ",")
}
