package browser

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	const local = `{
   "checksum": "[{",
   "roots": {
      "bookmark_bar": {"children": [ {"name":"L1"}, {"name":"L2","children":[{"name":"deep"}]} ], "name": "Bookmarks bar"},
      "other": {"name": "Other ] bookmarks", "children": [ ]},
      "sync_transaction_version": "1"
   },
   "version": 1
}`
	for name, test := range map[string]struct{ first, second, want string }{
		"both": {
			local, `{"roots":{"bookmark_bar":{"children":[{"name":"A1"}]},"other":{"children":[{"name":"A2"},{"name":"A3"}]},"synced":{"children":[{"name":"A4"}],"name":"Mobile"}}}`,
			`{"checksum":"[{","roots":{"bookmark_bar":{"children":[{"name":"L1"},{"name":"L2","children":[{"name":"deep"}]},{"name":"A1"}],"name":"Bookmarks bar"},
			"other":{"name":"Other ] bookmarks","children":[{"name":"A2"},{"name":"A3"}]},"sync_transaction_version":"1","synced":{"children":[{"name":"A4"}],"name":"Mobile"}},"version":1}`,
		},
		"an empty account": {local, `{"roots":{"bookmark_bar":{"children":[]},"other":{},"x":[1,{}],"y":null}}`, local},
		"an empty first":   {`{"roots":{},"version":1}`, `{"roots":{"a":{"children":[{"name":"A"}]},"b":{"children":[1]}}}`, `{"roots":{"a":{"children":[{"name":"A"}]},"b":{"children":[1]}},"version":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			merged, err := mergeTexts(test.first, test.second)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(merged)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%s\nwant\n%s", text, test.want)
			}
		})
	}
}

func mergeTexts(first, second string) (io.Reader, error) {
	var files [2]*chromeFile
	for i, text := range [...]string{first, second} {
		file := strings.NewReader(text)
		found, err := findRoots(file)
		if err != nil {
			return nil, err
		}
		files[i] = &chromeFile{file, found}
	}
	return merge(files[0], files[1])
}

func TestMergeOfWhatIsNone(t *testing.T) {
	const whole = `{"roots":{}}`
	for _, broken := range []string{``, `[]`, `{}`, `{"roots":[]}`, `{"roots":{"other":{"children":{}}}}`, `{"roots":{"other":{"children":[`, `{"roots":{"other":{"children":[]}}`, `{"roots":`} {
		if _, err := mergeTexts(broken, whole); err == nil {
			t.Errorf("%q is merged into", broken)
		}
		if _, err := mergeTexts(whole, broken); err == nil {
			t.Errorf("%q is merged", broken)
		}
	}
}

// Whatever two files hold, what is made of two that can be read can be read, and
// has all children of both.
func FuzzMerge(f *testing.F) {
	f.Add(`{"roots":{"a":{"children":[1]}}}`, `{"roots":{"a":{"children":[2]},"b":{"children":[3]}}}`)
	f.Add(`{"roots":{"a":{"children":[]},"v":1},"x":[{}]}`, `{"y":"]","roots":{"a":{"n":"}","children":[{"children":[]}]}}}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		merged, err := mergeTexts(first, second)
		if err != nil || !json.Valid([]byte(first)) || !json.Valid([]byte(second)) {
			return
		}
		text, err := io.ReadAll(merged)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text) {
			t.Fatalf("%s and %s become\n%s", first, second, text)
		}
	})
}

func FuzzINI(f *testing.F) {
	f.Add("[Install1]\nDefault=a\n[Profile0]\nName=n\nIsRelative=1\nPath=a\n[Profile1]\nPath=/x\nIsRelative=0\nDefault=1\n")
	f.Add("\ufeff;c\r\n[profile]\r\npath = Profiles/x \r\n[\n]=\n=x")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range parseINI([]byte(text), "/root") {
			if p.folder == "" {
				t.Errorf("a profile without a folder: %+v", p)
			}
		}
	})
}

func TestINI(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []listed
	}{
		"nothing":             {"", nil},
		"no sections":         {"Name=a\nPath=b\n", nil},
		"a profile no path":   {"[Profile0]\nName=a\n", nil},
		"an older one":        {"[Profile0]\nName=a\nIsRelative=1\nPath=x/a\nDefault=1\n[Profile1]\nName=b\nPath=b", []listed{{"a", "/root/x/a", true}, {"b", "/root/b", false}}},
		"what is installed":   {"[InstallAB]\nDefault=b\n[Profile0]\nName=a\nPath=a\nDefault=1\n[Profile1]\nName=b\nPath=b\n", []listed{{"a", "/root/a", false}, {"b", "/root/b", true}}},
		"absolute":            {"[Profile0]\nName=a = b\nIsRelative=0\nPath=/far/../off\n", []listed{{"a = b", "/off", false}}},
		"comments and spaces": {"; [Profile9]\n# x\n [ProfilE0] \n name = a \nPATH= a\nnonsense\n", []listed{{"a", "/root/a", false}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseINI([]byte(test.text), "/root"); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func FuzzLocalState(f *testing.F) {
	f.Add([]byte(`{"profile":{"info_cache":{"Default":{"name":"Me"},"x":3},"last_used":"Default"}}`))
	f.Add([]byte(`{"profile":{"info_cache":{"a":null,"b":{"name":7}},"last_used":[]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		state, _ := parseLocalState(text)
		for folder, name := range state.names {
			if name == "" {
				t.Errorf("%q has an empty name", folder)
			}
		}
	})
}
