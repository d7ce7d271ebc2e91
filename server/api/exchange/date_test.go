package exchange

import (
	"slices"
	"testing"
	"time"
)

func TestParseDate(t *testing.T) {
	for text, want := range map[string]string{
		"1456433748":                    "2016-02-25T20:55:48Z",
		"1456433748.25":                 "2016-02-25T20:55:48.25Z",
		"1456433748.123":                "2016-02-25T20:55:48.123Z",
		"1456433748123":                 "2016-02-25T20:55:48.123Z",
		"1456433748123456":              "2016-02-25T20:55:48.123456Z",
		"1456433748123456789":           "2016-02-25T20:55:48.123456789Z",
		"13100907348123456":             "2016-02-25T20:55:48.123456Z", // since 1601
		"1":                             "1970-01-01T00:00:01Z",
		" 1456433748 ":                  "2016-02-25T20:55:48Z",
		"10/Oct/2000:13:55:36 +0300":    "2000-10-10T10:55:36Z",
		"2016-02-25T20:55:48Z":          "2016-02-25T20:55:48Z",
		"2016-02-25T20:55:48.5+02:00":   "2016-02-25T18:55:48.5Z",
		"2016-02-25T20:55:48":           "2016-02-25T20:55:48Z",
		"2016-02-25 20:55:48":           "2016-02-25T20:55:48Z",
		"2016-02-25 20:55:48 +0000 UTC": "2016-02-25T20:55:48Z",
		"2016-02-25":                    "2016-02-25T00:00:00Z",
		"Thu, 25 Feb 2016 20:55:48 GMT": "2016-02-25T20:55:48Z",
		"Fri, 5 Feb 2016 20:55:48 GMT":  "2016-02-05T20:55:48Z",
		"Fri, 05 Feb 16 20:55:48 +0100": "2016-02-05T19:55:48Z",
		"1966-02-25T20:55:48Z":          "1966-02-25T20:55:48Z",
		"":                              "none",
		"0":                             "none",
		"-1":                            "bad",
		"yesterday":                     "bad",
		"2016-13-25":                    "bad",
		"1456433748.x":                  "bad",
		"99999999999999999999":          "bad",
		"0000-01-01T00:00:00Z":          "bad",
	} {
		at, ok := parseDate(text)
		got := at.Format(time.RFC3339Nano)
		switch {
		case !ok:
			got = "bad"
		case at.IsZero():
			got = "none"
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Whatever tags there are, what is written of them is read back.
func FuzzJoinTags(f *testing.F) {
	f.Add("a", "b c", true)
	f.Add("a,b", "c|d", false)
	f.Add("", " x", true)
	f.Fuzz(func(t *testing.T, one, two string, spaced bool) {
		tags := splitTags(one+","+two, false) // trimmed, none empty
		if len(tags) > 0 {
			tags[0] += ",x"
		}
		value, exact := joinTags(tags, spaced)
		got := splitTags(value, spaced)
		if exact != "" {
			got = readExactTags(exact)
		}
		if !slices.Equal(got, tags) && exact == "" {
			t.Fatalf("%q came back as %q", tags, got)
		}
	})
}
