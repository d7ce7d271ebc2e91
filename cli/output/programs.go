package output

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/itchyny/gojq"
)

func compile(program string) (*gojq.Code, error) {
	query, err := gojq.Parse(program)
	if err != nil {
		return nil, &BadFormat{Message: "the --jq program does not parse: " + err.Error()}
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, &BadFormat{Message: "the --jq program does not compile: " + err.Error()}
	}
	return code, nil
}

// CheckJQ reports whether a jq program can be run, before what it would run
// over is fetched.
func CheckJQ(program string) error {
	_, err := compile(program)
	return err
}

// JQ writes what a jq program makes of a JSON document.
func JQ(ctx context.Context, w io.Writer, s *Streams, program string, document []byte) error {
	if !json.Valid(document) {
		return &BadFormat{Message: "--jq needs JSON, and the answer is none"}
	}
	return runJQ(ctx, w, s, program, document)
}

// runJQ writes strings raw and everything else as JSON, a line each. A program
// that never ends does so with ctx.
func runJQ(ctx context.Context, w io.Writer, s *Streams, program string, document json.RawMessage) error {
	code, err := compile(program)
	if err != nil {
		return err
	}
	var input any
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	if err := decoder.Decode(&input); err != nil {
		return err
	}
	for results := code.RunWithContext(ctx, input); ; {
		result, more := results.Next()
		if !more {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err, failed := result.(error); failed {
			return &BadFormat{Message: "the --jq program failed: " + err.Error()}
		}
		text, isText := result.(string)
		if !isText {
			raw, err := encode(result)
			if err != nil {
				return err
			}
			text = string(raw)
		}
		if s.OutTTY {
			text = CleanText(text)
		}
		if _, err := io.WriteString(w, text+"\n"); err != nil {
			return err
		}
	}
}

func parseTemplate(text string) (*template.Template, error) {
	t, err := template.New("--template").Option("missingkey=error").Funcs(template.FuncMap{
		"join": func(sep string, list any) string { return strings.Join(texts(list), sep) },
		"json": func(v any) (string, error) { raw, err := encode(v); return string(raw), err },
	}).Parse(text)
	if err != nil {
		return nil, &BadFormat{Message: "the template does not parse: " + strings.Replace(err.Error(), "template: --template:", "line ", 1)}
	}
	return t, nil
}

func texts(list any) []string {
	items, _ := list.([]any)
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = fmt.Sprint(item)
	}
	return out
}

func runTemplate(w io.Writer, s *Streams, text string, object json.RawMessage) error {
	t, err := parseTemplate(text)
	if err != nil {
		return err
	}
	return execute(w, s, t, object)
}

func execute(w io.Writer, s *Streams, t *template.Template, object json.RawMessage) error {
	var input any
	if err := json.Unmarshal(object, &input); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, input); err != nil {
		return templateFault(err, input)
	}
	text := b.String()
	if s.OutTTY {
		text = CleanText(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// templateFault says in words why a template failed over a result.
func templateFault(err error, input any) error {
	text := err.Error()
	if _, key, found := strings.Cut(text, "map has no entry for key "); found {
		object, _ := input.(map[string]any)
		fields := slices.Sorted(maps.Keys(object))
		message := fmt.Sprintf("there is no field %s; a template takes: %s", Clean(key), strings.Join(fields, ", "))
		return &BadFormat{Message: message, Wrong: strings.Trim(key, `"`), Known: fields}
	}
	if _, reason, found := strings.Cut(text, ">: "); found { // behind where it is and what was executed
		text = reason
	}
	return &BadFormat{Message: "the template failed: " + text}
}
