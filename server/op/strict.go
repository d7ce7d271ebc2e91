package op

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"bm/server/api"
)

// inspect refuses what encoding/json passes over in silence: a member that is
// given twice, of which it takes now the last, now both; a NUL, which
// PostgreSQL could not store; half of a surrogate pair, which it replaces; a
// number that nothing can hold, where it leaves the text as it is; and more values
// than a body of its length can mean, each of which would cost a hundred times
// its bytes. raw is known to be JSON in valid UTF-8.
func inspect(raw []byte) error {
	if containers, values := count(raw); containers > maxContainers || values > fewestValues+len(raw)/bytesPerValue {
		return api.Invalid("body", "holds too many values")
	}
	at, problem := scan(raw, len(raw))
	if problem != "" {
		return api.Invalid(at.String(), "%s", problem)
	}
	return nil
}

// A body may hold so many objects and arrays (the largest that means something
// is a request of 500 edits), so many values, and one more for each so many
// bytes: the densest that means something are lists of tags of one letter.
const (
	maxContainers = 10_000
	fewestValues  = 20_000
	bytesPerValue = 4
)

// count is the number of objects and arrays in a document, and at least that of
// all its values.
func count(raw []byte) (containers, values int) {
	values = 1
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = endOfString(raw, i)
		case '{', '[':
			containers++
			values++
		case ',':
			values++
		}
	}
	return containers, values
}

// placeAt is the path of what the offset is in.
func placeAt(raw []byte, offset int64) string {
	at, _ := scan(raw, min(int(offset)-1, len(raw)))
	return at.String()
}

// scan reads up to end, or to the first problem, and says where that is.
func scan(raw []byte, end int) (at place, problem string) {
	for i := 0; i < end; i++ {
		switch raw[i] {
		case '{':
			at = append(at, level{object: true, naming: true})
		case '[':
			at = append(at, level{})
		case '}', ']':
			at = at[:len(at)-1]
		case ',':
			top := &at[len(at)-1]
			top.naming, top.name = top.object, ""
			top.index++
		case ':':
			at[len(at)-1].naming = false
		case '"':
			text := raw[i+1 : endOfString(raw, i)]
			i += len(text) + 1
			if problem = badEscape(text); problem != "" {
				return at, problem
			}
			if len(at) > 0 && at[len(at)-1].naming && !at[len(at)-1].named(text) {
				return at, "is given twice"
			}
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			number := numberAt(raw[i:end])
			i += len(number) - 1
			if beyondFloat(number) {
				return at, "is a number that does not fit"
			}
		}
	}
	return at, ""
}

// numberAt is the number that text begins with.
func numberAt(text []byte) []byte {
	length := bytes.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.0123456789Ee", r) })
	if length < 0 {
		return text
	}
	return text[:length]
}

// longNumber is how many digits the largest number has that a float64 holds:
// with fewer, and no exponent, none is larger.
const longNumber = 309

func beyondFloat(number []byte) bool {
	if len(number) < longNumber && !bytes.ContainsAny(number, "eE") {
		return false
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err != nil
}

// endOfString is where the closing quote of the string that starts at i is.
func endOfString(raw []byte, i int) int {
	for i++; ; i++ {
		switch raw[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
}

// badEscape says what is wrong with a string's escapes; "" for nothing.
func badEscape(text []byte) string {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return ""
		}
		if text[i+1] != 'u' {
			text = text[i+2:]
			continue
		}
		unit := escapedUnit(text[i:])
		text = text[i+6:]
		switch {
		case unit == 0:
			return "holds a NUL character"
		case unit >= 0xdc00 && unit <= 0xdfff:
			return "holds half of a surrogate pair"
		case unit >= 0xd800 && unit <= 0xdbff:
			if low := escapedUnit(text); low < 0xdc00 || low > 0xdfff {
				return "holds half of a surrogate pair"
			}
			text = text[6:]
		}
	}
}

// escapedUnit is the \u escape that text begins with; -1 where it does not.
func escapedUnit(text []byte) int64 {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseInt(string(text[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return unit
}

// place is where in a document a reader is, from the outside in.
type place []level

type level struct {
	object bool
	naming bool // the next string is a member's name
	index  int
	name   string
	seen   []string
	many   map[string]bool // takes over from seen in large objects
}

// fewMembers is up to which a list of names is searched faster than a map.
const fewMembers = 24

// named notes a member's name; false where the object has it already.
func (l *level) named(text []byte) bool {
	l.name = string(text)
	if bytes.IndexByte(text, '\\') >= 0 {
		_ = json.Unmarshal(slices.Concat([]byte{'"'}, text, []byte{'"'}), &l.name) // it was part of valid JSON
	}
	if l.many != nil {
		known := l.many[l.name]
		l.many[l.name] = true
		return !known
	}
	if slices.Contains(l.seen, l.name) {
		return false
	}
	if l.seen = append(l.seen, l.name); len(l.seen) == fewMembers {
		l.many = make(map[string]bool, 2*fewMembers)
		for _, name := range l.seen {
			l.many[name] = true
		}
	}
	return true
}

// String is the path as details show it: body.items[3].name.
func (p place) String() string {
	path := []byte("body")
	for _, l := range p {
		switch {
		case !l.object:
			path = append(path, '[')
			path = strconv.AppendInt(path, int64(l.index), 10)
			path = append(path, ']')
		case l.name != "":
			path = append(path, '.')
			path = append(path, l.name...)
		}
	}
	return string(path)
}
