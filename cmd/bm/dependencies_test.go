package main_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Each direct dependency is in ARCHITECTURE.md, with why it is there, and
// nothing is there that is none.
func TestDependenciesAreExplained(t *testing.T) {
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(document), "## Direct dependencies")
	explained := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.Contains(line, "---") || strings.TrimSpace(cells[2]) == "why" {
			continue
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			explained[short(strings.TrimSpace(name))] = true
		}
	}
	direct := map[string]bool{}
	for line := range strings.Lines(string(module)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.Contains(line, "// indirect") || !strings.Contains(fields[0], ".") || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		name := short(fields[0])
		direct[name] = true
		if !explained[name] {
			t.Errorf("%s: ARCHITECTURE.md does not say why it is there", fields[0])
		}
	}
	for name := range explained {
		if !direct[name] {
			t.Errorf("%s is explained, and no direct dependency", name)
		}
	}
	if len(direct) < 20 {
		t.Errorf("go.mod has %d direct dependencies?", len(direct))
	}
}

var version = regexp.MustCompile(`/v[0-9]+$`)

// short is the end of a module's path, by which it is known.
func short(module string) string {
	module = version.ReplaceAllString(module, "")
	return path.Join(path.Base(path.Dir(module)), path.Base(module))
}
