package api

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// ReadBody fills the request from a body that is known to be JSON in valid
// UTF-8 in which no name comes twice, in one pass: what was made offline comes in
// bodies of half a megabyte. It keeps parts of raw. It reports false, and leaves r in pieces, for
// whatever is out of the ordinary: a name that it does not know, a null, a value
// that does not fit. Whoever asked then reads the body as any other, and finds
// what is wrong with it, if anything is.
func (r *PushRequest) ReadBody(raw []byte) bool {
	return eachMember(raw, func(name string, value []byte) bool {
		switch name {
		case "epoch":
			return plainInto(&r.Epoch, value, plainText)
		case "cursor":
			return plainInto(&r.Cursor, value, plainText)
		case "ops":
			ops := make([]Op, 0, MaxChangesOps)
			fits := eachItem(value, func(item []byte) bool {
				var op Op
				if len(ops) == MaxChangesOps || !op.readPlain(item) {
					return false
				}
				ops = append(ops, op)
				return true
			})
			r.Ops = ops
			return fits
		}
		return false
	}) && len(r.Ops) > 0
}

func (o *Op) readPlain(raw []byte) bool {
	fits := eachMember(raw, func(name string, value []byte) bool {
		switch name {
		case "opId":
			return plainInto(&o.OpID, value, plainText)
		case "action":
			return plainInto((*string)(&o.Action), value, plainText)
		case "type":
			return plainInto((*string)(&o.Type), value, plainText)
		case "id":
			return plainInto(&o.ID, value, plainText)
		case "baseRev":
			return plainInto(&o.BaseRev, value, plainNumber)
		case "set":
			o.Set = value
			return value[0] == '{'
		}
		return false
	})
	if !fits || o.OpID == "" || o.ID == "" || o.Type != TypeFolder && o.Type != TypeBookmark {
		return false
	}
	switch o.Action {
	case OpCreate, OpUpdate, OpDelete, OpRestore:
		return true
	}
	return false
}

// ReadPlain is the same for what an op sets, without the checks of the schema
// that other operations have for a bookmark.
func (in *BookmarkInput) ReadPlain(raw []byte) bool {
	return eachMember(raw, func(name string, value []byte) bool {
		switch name {
		case "url":
			return plainField(&in.URL, value, plainText)
		case "title":
			return plainField(&in.Title, value, plainText)
		case "description":
			return plainField(&in.Description, value, plainText)
		case "tags":
			return plainField(&in.Tags, value, plainTexts)
		case "folderId":
			return plainField(&in.FolderID, value, plainText)
		case "sortOrder":
			return plainField(&in.SortOrder, value, plainNumber)
		case "snapshotEnabled":
			return plainField(&in.SnapshotEnabled, value, plainBoolean)
		case "extra":
			return plainField(&in.Extra, value, plainAttributes)
		case "createdAt":
			return plainField(&in.CreatedAt, value, plainTime)
		}
		return false
	})
}

// plainField reads a field of a merge patch.
func plainField[T any](field *Optional[T], raw []byte, read func([]byte) (T, bool)) bool {
	if clears(raw) {
		*field = Clear[T]()
		return true
	}
	value, fits := read(raw)
	*field = Some(value)
	return fits
}

func plainInto[T any](field *T, raw []byte, read func([]byte) (T, bool)) (fits bool) {
	*field, fits = read(raw)
	return fits
}

func plainText(raw []byte) (text string, fits bool) {
	if raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		return text, json.Unmarshal(raw, &text) == nil
	}
	return string(raw[1 : len(raw)-1]), true
}

func plainNumber(raw []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

func plainBoolean(raw []byte) (value, fits bool) {
	value = string(raw) == "true"
	return value, value || string(raw) == "false"
}

func plainTime(raw []byte) (Time, bool) {
	text, fits := plainText(raw)
	if !fits || bytes.IndexByte(raw, '\\') >= 0 {
		return Time{}, false
	}
	at, err := ParseTime(text)
	return at, err == nil
}

func plainTexts(raw []byte) ([]string, bool) {
	texts := []string{}
	fits := eachItem(raw, func(item []byte) bool {
		text, fits := plainText(item)
		texts = append(texts, text)
		return fits
	})
	return texts, fits
}

func plainAttributes(raw []byte) (map[string]string, bool) {
	values := map[string]string{}
	fits := eachMember(raw, func(name string, value []byte) (fits bool) {
		values[name], fits = plainText(value)
		return fits
	})
	return values, fits
}

// eachMember calls fn for each member of a JSON object, until it says false. It
// reports false then, for what is no object, and for a name with escapes.
func eachMember(raw []byte, fn func(name string, value []byte) bool) bool {
	if raw = bytes.TrimLeft(raw, space); raw[0] != '{' {
		return false
	}
	for at := skipSpace(raw, 1); raw[at] != '}'; {
		end := endOfValue(raw, at)
		name := raw[at+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			return false
		}
		at = skipSpace(raw, skipSpace(raw, end)+len(":"))
		end = endOfValue(raw, at)
		if !fn(string(name), raw[at:end:end]) {
			return false
		}
		if at = skipSpace(raw, end); raw[at] == ',' {
			at = skipSpace(raw, at+1)
		}
	}
	return true
}

// eachItem is the same for the items of an array.
func eachItem(raw []byte, fn func(item []byte) bool) bool {
	if raw = bytes.TrimLeft(raw, space); raw[0] != '[' {
		return false
	}
	for at := skipSpace(raw, 1); raw[at] != ']'; {
		end := endOfValue(raw, at)
		if !fn(raw[at:end:end]) {
			return false
		}
		if at = skipSpace(raw, end); raw[at] == ',' {
			at = skipSpace(raw, at+1)
		}
	}
	return true
}

// space is what may stand between the tokens of JSON.
const space = " \t\r\n"

func skipSpace(raw []byte, at int) int {
	for raw[at] == ' ' || raw[at] == '\n' || raw[at] == '\t' || raw[at] == '\r' {
		at++
	}
	return at
}

// endOfValue is where the value that begins at at ends.
func endOfValue(raw []byte, at int) int {
	depth := 0
	for ; at < len(raw); at++ {
		switch raw[at] {
		case '"':
			if at = endOfText(raw, at); depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return at + 1 + depth // behind its own bracket, or before that of what it is in
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}

// endOfText is where the closing quote of the text that begins at at is.
func endOfText(raw []byte, at int) int {
	for {
		at += 1 + bytes.IndexByte(raw[at+1:], '"')
		slashes := 0
		for raw[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
	}
}
