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

// decodeBookmark and decodeFolder read what an op sets; an *api.Error where it
// cannot be read.
func decodeBookmark(op *api.Op) (in api.BookmarkInput, bad *api.Error) {
	if len(op.Set) > 0 && in.ReadPlain(op.Set) {
		return in, nil
	}
	in = api.BookmarkInput{}
	return in, decode(op, bookmarkFields, &in)
}

func decodeFolder(op *api.Op) (in api.FolderInput, bad *api.Error) {
	return in, decode(op, folderFields, &in)
}

// The fields that an op can set.
var (
	bookmarkFields = fieldsOf[api.BookmarkInput]()
	folderFields   = fieldsOf[api.FolderInput]()
)

func decode(op *api.Op, fields []string, into any) *api.Error {
	if len(op.Set) == 0 {
		return nil
	}
	if err := json.Unmarshal(withoutStrays(op.Set, fields), into); err != nil {
		return api.Invalid("set", "does not hold the fields of a %s", op.Type)
	}
	return nil
}

// stray reports whether a name differs from a field's in the case of its letters
// alone: it is not that field, though encoding/json would take it for it.
func stray(name string, fields []string) bool {
	return !slices.Contains(fields, name) &&
		slices.ContainsFunc(fields, func(field string) bool { return strings.EqualFold(field, name) })
}

// withoutStrays is the object without its strays; what it is where it is none.
func withoutStrays(set []byte, fields []string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(set, &members) != nil {
		return set // which is none, and says so itself
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return stray(name, fields) })
	kept, err := json.Marshal(members)
	if err != nil {
		return set
	}
	return bytes.TrimSpace(kept)
}
