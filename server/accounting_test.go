package server_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bm/server"
	"bm/server/api/needtest"
	"bm/server/op"
	"bm/server/servertest"
)

// Every row of the specification is served, or comes later; every operation
// that is served is in the specification, or says that it is an extension.
func TestSpecificationIsServed(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	specs := map[string]op.Spec{}
	ids := map[string]bool{}
	for _, spec := range s.Specs() {
		specs[spec.Method+" "+spec.Path] = spec
		if ids[spec.ID] {
			t.Errorf("two operations have the id %s", spec.ID)
		}
		ids[spec.ID] = true
	}
	known := map[string]bool{}
	account := func(name string, r row) {
		known[r.route] = true
		spec, served := specs[r.route]
		switch {
		case r.state == built && !served:
			t.Errorf("%s: %s is not served", name, r.route)
		case r.state == later && served:
			t.Errorf("%s: %s is served, and listed as coming later", name, r.route)
		case served && spec.Extension:
			t.Errorf("%s: %s is declared an extension, and is none", name, r.route)
		}
	}
	for _, section := range specification {
		for _, r := range section.rows {
			account(section.name, r)
		}
	}
	for _, r := range signingIn {
		account("Signing in", r)
	}
	for route, spec := range specs {
		if !known[route] && !spec.Extension {
			t.Errorf("%s (%s) is in no row of the specification and not declared an extension", route, spec.ID)
		}
	}
}

// The security scheme that the specification states in its rule 3 of
// authentication.
func TestStatedSecurity(t *testing.T) {
	s := servertest.Start(t, server.Config{Dir: t.TempDir()})
	jwtAlone := []string{"/auth/logout", "/auth/switch-"}
	for _, spec := range s.Specs() {
		want := op.JWTOrKey
		switch {
		case strings.HasPrefix(spec.Path, "/api/v1/bookmarks"):
			want = op.KeyOnly
		case slices.ContainsFunc(jwtAlone, func(prefix string) bool { return strings.HasPrefix(spec.Path, prefix) }):
			want = op.JWTOnly
		case strings.HasPrefix(spec.Path, "/auth/"), strings.HasPrefix(spec.Path, "/.well-known/"):
			want = op.Public
		}
		if spec.Auth != want {
			t.Errorf("%s %s takes the credential %d, want %d", spec.Method, spec.Path, spec.Auth, want)
		}
	}
}

// Where the specification itself is at hand, the rows above are its rows.
func TestRowsAreTheSpecifications(t *testing.T) {
	path := needtest.Beside(t, "spec.md")
	if path == "" {
		needtest.Missing(t, "specification", "it is not beside the repository")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	heading := regexp.MustCompile(`^(##+) (.*?)(?: \(.*\))?$`)
	tableRow := regexp.MustCompile(`^\| (GET|POST|PUT|PATCH|DELETE) \| (/\S+) \|`)
	var theirs, ours []string
	name, endpoints := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := heading.FindStringSubmatch(line); m != nil {
			if m[1] == "##" {
				endpoints = m[2] == "Endpoints"
			}
			name = m[2]
		}
		if m := tableRow.FindStringSubmatch(line); m != nil && endpoints {
			theirs = append(theirs, fmt.Sprintf("%s: %s %s", name, m[1], m[2]))
		}
	}
	for _, section := range specification {
		for _, r := range section.rows {
			ours = append(ours, section.name+": "+r.route)
		}
	}
	if len(theirs) < 90 {
		t.Fatalf("only %d rows were found in the specification", len(theirs))
	}
	for _, line := range theirs {
		if !slices.Contains(ours, line) {
			t.Errorf("the specification has %s", line)
		}
	}
	for _, line := range ours {
		if !slices.Contains(theirs, line) {
			t.Errorf("the specification does not have %s", line)
		}
	}
	if len(ours) != len(theirs) {
		t.Errorf("%d rows here, %d in the specification", len(ours), len(theirs))
	}
}

// findSpecification looks for shared/spec.md beside any folder on the way up.
