package serve

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"bm/cli/app"
	"bm/cli/output"
)

// The packages' settings and unit name only what the program has.
func TestPackagedSettingsExist(t *testing.T) {
	cmd := New(app.New("test", output.System(func(string) string { return "" }), func(string) string { return "" }))
	checked := 0
	for file, pattern := range map[string]*regexp.Regexp{
		"../../.ci/package/serve.env":        regexp.MustCompile(`BM_SERVE_([A-Z_]+)=`),
		"../../.ci/package/bm-serve.service": regexp.MustCompile(`bm serve --([a-z-]+)`),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pattern.FindAllStringSubmatch(string(text), -1) {
			name := strings.ToLower(strings.ReplaceAll(match[1], "_", "-"))
			if cmd.Flags().Lookup(name) == nil {
				t.Errorf("%s: bm serve has no --%s", file, name)
			}
			checked++
		}
	}
	if checked < 4 {
		t.Errorf("%d settings were found in the package's files", checked)
	}
}
