package web

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// openapi is the part of an OpenAPI document that a page shows.
type openapi struct {
	Info struct {
		Title, Version, Description string
	}
	Paths      map[string]map[string]*describedOperation
	Components struct {
		Schemas map[string]*schema
	}
}

type describedOperation struct {
	Parameters  []parameter
	RequestBody struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]struct {
		Description string
		Content     map[string]media
	}
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                *schema
}

type media struct{ Schema *schema }

// schema is a JSON Schema.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 types
	Format, Description  string
	Enum                 []any
	Properties           map[string]*schema
	Required             []string
	Items                *schema
	AdditionalProperties any
	OneOf                []*schema
	Minimum, Maximum     *float64
	MinItems, MaxItems   *int
	MinLength, MaxLength *int
}

// types are a schema's: one, or several as OpenAPI 3.1 writes what may be null.
type types []string

func (t *types) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = types{one}
		return nil
	}
	var several []string
	if err := json.Unmarshal(raw, &several); err != nil {
		return fmt.Errorf("read a schema's type: %w", err)
	}
	*t = several
	return nil
}

// field is a member of an object.
type field struct {
	Name     string
	Required bool
	Schema   *schema
}

// fields are an object's members: the required ones first, then by name.
func (s *schema) fields() []field {
	if s == nil {
		return nil
	}
	var fields []field
	for _, name := range sortedKeys(s.Properties) {
		fields = append(fields, field{name, slices.Contains(s.Required, name), s.Properties[name]})
	}
	slices.SortStableFunc(fields, func(a, b field) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return fields
}

// resolve follows a reference into the document.
func (d *openapi) resolve(s *schema) *schema {
	if s != nil && s.Ref != "" {
		return d.Components.Schemas[typeName(s.Ref)]
	}
	return s
}

func typeName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// typeOf is a schema in words; a named type is a link to where it is described.
func typeOf(s *schema) template.HTML {
	return template.HTML(typeText(s)) //nolint:gosec // every part that is not ours is escaped
}

func typeText(s *schema) string {
	if s == nil {
		return ""
	}
	escape := template.HTMLEscapeString
	switch {
	case s.Ref != "":
		name := escape(typeName(s.Ref))
		return `<a href="#type-` + name + `">` + name + `</a>`
	case len(s.OneOf) > 0:
		parts := make([]string, len(s.OneOf))
		for i, one := range s.OneOf {
			parts[i] = typeText(one)
		}
		return strings.Join(parts, " or ")
	case s.Items != nil:
		return "array of " + typeText(s.Items)
	case len(s.Properties) > 0:
		parts := make([]string, 0, len(s.Properties))
		for _, f := range s.fields() {
			parts = append(parts, "<code>"+escape(f.Name)+"</code>: "+typeText(f.Schema))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	if values, ok := s.AdditionalProperties.(map[string]any); ok {
		return "object of " + escape(fmt.Sprint(values["type"])) + "s by name"
	}
	text := escape(strings.Join(slices.DeleteFunc(slices.Clone(s.Type), func(t string) bool { return t == "null" }), " or "))
	if s.Format != "" && s.Format != "int64" {
		text = escape(s.Format)
	}
	return text
}

// limitsOf is what a schema demands beyond its type.
func limitsOf(s *schema) string {
	var parts []string
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			if value != nil && value != "" {
				values = append(values, fmt.Sprint(value))
			}
		}
		parts = append(parts, "one of "+strings.Join(values, ", "))
	}
	span := func(low, high *float64, unit string) {
		number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
		switch {
		case low != nil && high != nil:
			parts = append(parts, number(low)+" to "+number(high)+unit)
		case low != nil:
			parts = append(parts, "at least "+number(low)+unit)
		case high != nil:
			parts = append(parts, "at most "+number(high)+unit)
		}
	}
	float := func(n *int) *float64 {
		if n == nil {
			return nil
		}
		f := float64(*n)
		return &f
	}
	span(s.Minimum, s.Maximum, "")
	span(float(s.MinItems), float(s.MaxItems), " of them")
	span(float(s.MinLength), float(s.MaxLength), " characters")
	if slices.Contains(s.Type, "null") {
		parts = append(parts, "null clears it")
	}
	return strings.Join(parts, "; ")
}

// prose shows what stands between backquotes as code.
func prose(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		out.WriteString(part)
	}
	return template.HTML(out.String()) //nolint:gosec // every part is escaped
}

// breakable is a path that a narrow column may break before its slashes.
func breakable(path string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(path), "/", "<wbr>/")) //nolint:gosec // the path is escaped
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
