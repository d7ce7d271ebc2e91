package changes

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"bm/server/api"
)

// fieldsOf are the names of a type's JSON members.
func fieldsOf[T any]() []string {
	var names []string
	for field := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// decode reads what an op sets; an *api.Error where it cannot be read. A member
// that differs from a field in the case of its letters is not that field,
// though encoding/json would take it for it.
func decode(op *api.Op, fields []string, into any) *api.Error {
	if len(op.Set) == 0 {
		return nil
	}
	set := []byte(op.Set)
	if hasStray(set, fields) {
		set = withoutStrays(set, fields)
	}
	if err := json.Unmarshal(set, into); err != nil {
		return api.Invalid("set", "does not hold the fields of a %s", op.Type)
	}
	return nil
}

// hasStray looks, cheaply, whether some name in an object may be a stray; set
// is known to be JSON.
func hasStray(set []byte, fields []string) bool {
	depth, naming := 0, false
	for i := 0; i < len(set); i++ {
		switch set[i] {
		case '{', '[':
			depth++
			naming = depth == 1 && set[i] == '{'
		case '}', ']':
			depth--
		case ',':
			naming = depth == 1
		case '"':
			end := i + 1
			for ; set[end] != '"'; end++ {
				if set[end] == '\\' {
					end++
				}
			}
			if name := set[i+1 : end]; naming && stray(string(name), fields) {
				return true
			}
			naming, i = false, end
		}
	}
	return false
}

// stray reports whether a name could be taken for a field that it is not.
func stray(name string, fields []string) bool {
	return strings.Contains(name, `\`) || !slices.Contains(fields, name) &&
		slices.ContainsFunc(fields, func(field string) bool { return strings.EqualFold(field, name) })
}

// withoutStrays is the object without its strays; what it is where it is none.
func withoutStrays(set []byte, fields []string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(set, &members) != nil {
		return set // which says itself what is wrong with it
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return stray(name, fields) })
	kept, err := json.Marshal(members)
	if err != nil {
		return set
	}
	return bytes.TrimSpace(kept)
}
