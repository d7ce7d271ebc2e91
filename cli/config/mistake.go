package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Mistake is an error of whoever wrote a setting.
type Mistake struct {
	Text string
	Next string // what may have been meant; "" where that is not known
	Err  error
}

func (m *Mistake) Error() string { return m.Text }

func (m *Mistake) Unwrap() error { return m.Err }

// unread says where a file is no TOML.
func unread(path string, err error) error {
	var at interface{ Position() (row, column int) }
	if !errors.As(err, &at) {
		return fmt.Errorf("read the settings in %s: %w", path, err)
	}
	row, _ := at.Position()
	why := err
	for under := errors.Unwrap(why); under != nil; under = errors.Unwrap(why) {
		why = under
	}
	return &Mistake{Text: fmt.Sprintf("%s, line %d: %s", path, row, strings.TrimPrefix(why.Error(), "toml: ")), Err: err}
}

// judge finds settings that are none, and values that mean nothing: a typo must
// not be taken for a setting that holds.
func (c *Config) judge() error {
	if c.file != nil {
		all := c.file.AllSettings()
		profiles := all[profilesTable]
		delete(all, profilesTable)
		if mistake := c.known("", all); mistake != nil {
			return mistake
		}
		if err := c.judgeProfiles(profiles); err != nil {
			return err
		}
	}
	for _, s := range Settings {
		if s.Default != "true" && s.Default != "false" {
			continue
		}
		if v := c.find(s.Key); yesOrNo[strings.ToLower(v.Value)] == "" {
			return &Mistake{Text: fmt.Sprintf("%s: %q is neither true nor false", v.Place(), v.Value), Next: "true or false"}
		}
	}
	return nil
}

// judgeProfiles refuses what stands under profiles and is no profile.
func (c *Config) judgeProfiles(under any) error {
	profiles, is := under.(map[string]any)
	if under != nil && !is {
		return c.noProfile(profilesTable, "work")
	}
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		if !validProfile(name) {
			return &Mistake{Text: fmt.Sprintf("profiles.%q in %s: %v", name, c.file.ConfigFileUsed(), ErrProfileName), Err: ErrProfileName}
		}
		table, is := profiles[name].(map[string]any)
		if !is {
			return c.noProfile(profilesTable+"."+typedKey(name), name)
		}
		if mistake := c.known(profilesTable+"."+typedKey(name)+".", table); mistake != nil {
			if dotted, found := dottedProfile(name, table); found {
				mistake.Next = "[" + profilesTable + "." + typedKey(dotted) + "]   where that is a profile's name"
			}
			return mistake
		}
	}
	return nil
}

// typedKey is a key as TOML wants it: a dot in it would begin another table.
func typedKey(key string) string {
	if strings.Contains(key, ".") {
		return strconv.Quote(key)
	}
	return key
}

// dottedProfile is the name that was probably meant by a table within a profile's
// table: one with a dot, which lacks its quotation marks.
func dottedProfile(name string, table map[string]any) (string, bool) {
	daemon, _, _ := strings.Cut(Autostart, ".") // the one table that belongs there
	for _, key := range slices.Sorted(maps.Keys(table)) {
		_, is := table[key].(map[string]any)
		if dotted := name + "." + key; is && key != daemon && validProfile(dotted) {
			return dotted, true
		}
	}
	return "", false
}

func (c *Config) noProfile(key, name string) error {
	return &Mistake{
		Text: fmt.Sprintf("%s in %s is a value, and settings of a profile are wanted", key, c.file.ConfigFileUsed()),
		Next: "[" + profilesTable + "." + typedKey(name) + "]   on a line of its own, and below it server = \"…\"",
	}
}

// yesOrNo is what may be written for true and false.
var yesOrNo = map[string]string{
	"1": "true", "true": "true", "yes": "true", "on": "true",
	"0": "false", "false": "false", "no": "false", "off": "false",
}

// known refuses a key of the file that is no setting.
func (c *Config) known(prefix string, table map[string]any) *Mistake {
	var keys []string
	for _, s := range Settings {
		keys = append(keys, s.Key)
	}
	flat := flatten("", table)
	for _, key := range slices.Sorted(maps.Keys(flat)) {
		_, list := flat[key].([]any)
		switch {
		case slices.Contains(keys, key) && list:
			return &Mistake{Text: fmt.Sprintf("%s%s in %s is a list, and one value is wanted", prefix, key, c.file.ConfigFileUsed()), Next: "bm config --help   shows some"}
		case slices.Contains(keys, key):
			continue
		}
		m := &Mistake{Text: fmt.Sprintf("There is no setting %s%s, which stands in %s", prefix, key, c.file.ConfigFileUsed()), Next: "bm config   lists them"}
		if near := Nearest(key, keys); near != "" {
			m.Next = prefix + near
		}
		return m
	}
	return nil
}

// flatten joins the keys of tables within tables with dots.
func flatten(prefix string, table map[string]any) map[string]any {
	flat := map[string]any{}
	for key, value := range table {
		if inner, ok := value.(map[string]any); ok {
			maps.Copy(flat, flatten(prefix+key+".", inner))
		} else {
			flat[prefix+key] = value
		}
	}
	return flat
}

// Place is where the value was written, as a person names it.
func (v Value) Place() string {
	for _, origin := range []string{"environment ", "flag "} {
		if name, found := strings.CutPrefix(v.Origin, origin); found {
			return name
		}
	}
	return v.Key + " in " + v.Origin
}

// Unheeded are the variables of an environment that look like bm's and that no
// part of it heeds, each with the one that was probably meant or "".
func Unheeded(environ []string) map[string]string {
	var known []string
	for _, s := range Settings {
		known = append(known, s.Env)
	}
	for _, v := range Variables {
		known = append(known, strings.Split(v.Name, ", ")...)
	}
	unheeded := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || !strings.HasPrefix(name, "BM_") || slices.Contains(known, name) {
			continue
		}
		// What is the server's is told of by the server; tests have some of their own.
		if !strings.HasPrefix(name, "BM_SERVE_") && !strings.HasPrefix(name, "BM_TEST_") {
			unheeded[name] = Nearest(name, known)
		}
	}
	return unheeded
}

// Nearest is what was most likely meant by a name that is none of the options;
// "" where nothing is near.
func Nearest(name string, options []string) string {
	near, best := "", 1+min(3, len(name)/2)
	for _, option := range options {
		if d := distance(name, option); d < best {
			near, best = option, d
		}
	}
	return near
}

// distance is how many letters have to change to make b of a. Two neighbours that
// changed places are one mistake of who types.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = last[j]
			if a[i] != b[j] {
				row[j+1] = 1 + min(last[j], last[j+1], row[j])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], 1+before[j-1])
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
