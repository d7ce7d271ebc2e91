package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Field is one thing that can be asked of a T with --json.
type Field[T any] struct {
	Name string
	Get  func(T) any
}

// Format is what a command that reads offers beside its table: --json with a
// choice of fields, a jq program, a template.
type Format[T any] struct {
	Fields []Field[T]

	names    []string
	jq       string
	template string
	command  *cobra.Command
}

// NoFields is the error of a --json that names no fields. The root answers it
// with the list.
type NoFields struct {
	Command string
	Fields  []string
}

func (e *NoFields) Error() string {
	return fmt.Sprintf("--json wants one or more fields, separated by commas:\n  %s", strings.Join(e.Fields, "\n  "))
}

// BadFormat is the error of a --json, --jq or --template that can't be used.
type BadFormat struct {
	Message string
	// Wrong is the field that was asked for and is none, and Known those that are.
	Wrong string
	Known []string
}

func (e *BadFormat) Error() string { return e.Message }

// Bind adds the flags to a command.
func (f *Format[T]) Bind(cmd *cobra.Command) {
	f.command = cmd
	flags := cmd.Flags()
	flags.StringSliceVar(&f.names, "json", nil, "write JSON with these `fields`; no fields lists them")
	flags.StringVarP(&f.jq, "jq", "q", "", "run a jq `program` over the JSON")
	flags.StringVar(&f.template, "template", "", "write each result through a Go `template`")
	_ = cmd.RegisterFlagCompletionFunc("json", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completeFields(f.FieldNames(), typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if c == cmd && err.Error() == "flag needs an argument: --json" {
			return &NoFields{Command: c.CommandPath(), Fields: f.FieldNames()}
		}
		// Of cmd, not of c: that may be a command below cmd, which would ask here
		// again.
		if parent := cmd.Parent(); parent != nil {
			return parent.FlagErrorFunc()(c, err)
		}
		return err
	})
}

// Borrow is the format of something else that the same command shows, by the
// flags that were given for f's.
func Borrow[T, U any](f *Format[T], fields []Field[U]) *Format[U] {
	return &Format[U]{Fields: fields, names: f.names, jq: f.jq, template: f.template, command: f.command}
}

// FieldNames are the names that --json takes.
func (f *Format[T]) FieldNames() []string {
	names := make([]string, len(f.Fields))
	for i := range f.Fields {
		names[i] = f.Fields[i].Name
	}
	return names
}

func completeFields(all []string, typed string) []string {
	done, partial := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		done, partial = typed[:i+1], typed[i+1:]
	}
	var matches []string
	for _, name := range all {
		if strings.HasPrefix(name, partial) {
			matches = append(matches, done+name)
		}
	}
	return matches
}

// Wanted reports whether one of the flags was given, and refuses what they
// can't mean before anything was read.
func (f *Format[T]) Wanted() (bool, error) {
	if f.command == nil {
		return false, nil
	}
	changed := f.command.Flags().Changed
	if !changed("json") && f.jq == "" && f.template == "" {
		return false, nil
	}
	if f.jq != "" && f.template != "" {
		return false, &BadFormat{Message: "--jq and --template exclude each other"}
	}
	if changed("json") && len(f.names) == 0 {
		return false, &NoFields{Command: f.command.CommandPath(), Fields: f.FieldNames()}
	}
	for _, name := range f.names {
		if !slices.Contains(f.FieldNames(), name) {
			return false, &BadFormat{Message: fmt.Sprintf("there is no field %q; --json takes: %s", Clean(name), strings.Join(f.FieldNames(), ", ")), Wrong: name, Known: f.FieldNames()}
		}
	}
	if f.jq != "" {
		if _, err := compile(f.jq); err != nil {
			return false, err
		}
	}
	if f.template != "" {
		if _, err := parseTemplate(f.template); err != nil {
			return false, err
		}
	}
	return true, nil
}

// object encodes the wanted fields of v in the order in which they were asked
// for.
func (f *Format[T]) object(v T) (json.RawMessage, error) {
	names := f.names
	if len(names) == 0 {
		names = f.FieldNames()
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range names {
		at := slices.IndexFunc(f.Fields, func(field Field[T]) bool { return field.Name == name })
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		got := f.Fields[at].Get(v)
		if when, is := got.(interface{ IsZero() bool }); is && when.IsZero() {
			got = nil // never, rather than in the year 1
		}
		value, err := encode(got)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode is JSON as a reader of URLs wants it: & stays &.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// One writes one result as the flags ask.
func (f *Format[T]) One(w io.Writer, s *Streams, v T) error {
	object, err := f.object(v)
	if err != nil {
		return fmt.Errorf("write the result as JSON: %w", err)
	}
	switch {
	case f.jq != "":
		return runJQ(f.command.Context(), w, s, f.jq, object)
	case f.template != "":
		return runTemplate(w, s, f.template, object)
	}
	return writeJSON(w, s, object)
}

// List is [Format.All] of what is at hand.
func (f *Format[T]) List(w io.Writer, s *Streams, list []T) error {
	return f.All(w, s, func(yield func(T) error) error {
		for i := range list {
			if err := yield(list[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// All writes a list of results as the flags ask: an array, the output of one
// jq program over it, or the template's output for each. each calls its
// argument for every result.
func (f *Format[T]) All(w io.Writer, s *Streams, each func(func(T) error) error) error {
	if f.template != "" {
		t, err := parseTemplate(f.template)
		if err != nil {
			return err
		}
		return each(func(v T) error {
			object, err := f.object(v)
			if err != nil {
				return err
			}
			return execute(w, s, t, object)
		})
	}
	if f.jq != "" || s.OutTTY {
		var list []json.RawMessage
		err := each(func(v T) error {
			object, err := f.object(v)
			list = append(list, object)
			return err
		})
		if err != nil {
			return err
		}
		if list == nil {
			list = []json.RawMessage{}
		}
		document, err := json.Marshal(list)
		if err != nil {
			return err
		}
		if f.jq != "" {
			return runJQ(f.command.Context(), w, s, f.jq, document)
		}
		return writeJSON(w, s, document)
	}
	return f.stream(w, each)
}

// stream writes the array as it comes, so that a large list needs no memory.
func (f *Format[T]) stream(w io.Writer, each func(func(T) error) error) error {
	before := "["
	err := each(func(v T) error {
		object, err := f.object(v)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		before = ",\n"
		_, err = w.Write(object)
		return err
	})
	if err != nil {
		return err
	}
	if before == "[" {
		_, err = io.WriteString(w, "[]\n")
	} else {
		_, err = io.WriteString(w, "]\n")
	}
	return err
}

func writeJSON(w io.Writer, s *Streams, document json.RawMessage) error {
	if s.OutTTY {
		var b bytes.Buffer
		if err := json.Indent(&b, document, "", "  "); err != nil {
			return err
		}
		// A JSON string may hold raw C1 and direction characters.
		_, err := io.WriteString(w, CleanText(b.String())+"\n")
		return err
	}
	_, err := w.Write(append(document, '\n'))
	return err
}
