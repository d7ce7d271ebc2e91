package main_test

import (
	"fmt"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A rule forbids arrows of the import graph. Graphs of all platforms are
// judged at once: files are read whatever their build constraints.
type rule struct {
	name string
	why  string
	// direct forbids one import; nil forbids none.
	direct func(from, to string) bool
	// reach forbids getting from one package to another by any way; nil
	// forbids none.
	reach func(from, to string) bool
}

// What the server's features stand on; every other package right under
// server/ is a feature.
var foundations = []string{
	"bm/server/access", "bm/server/api", "bm/server/blob", "bm/server/events", "bm/server/jobs", "bm/server/mail",
	"bm/server/metrics", "bm/server/op", "bm/server/ratelimit", "bm/server/sqldb", "bm/server/tree", "bm/server/webfetch",
}

// What a command stands on; every other package right under cli/ is a noun.
var commandFoundations = []string{"bm/cli/app", "bm/cli/config", "bm/cli/credentials", "bm/cli/mirror", "bm/cli/output"}

var rules = []rule{
	{
		name:   "the contract is a leaf",
		why:    "server, client, replica and command line all stand on server/api; what it needed, they would all need",
		direct: func(from, to string) bool { return from == "bm/server/api" && !isStandard(to) },
	},
	{
		name: "below server/api only the contract is imported",
		why:  "the client, the formats and the query grammar serve programs that have no server in them",
		direct: func(from, to string) bool {
			return strings.HasPrefix(from, "bm/server/api/") && isOurs(to) && !within(to, "bm/server/api")
		},
	},
	{
		name: "outside server/ only server/api/… is imported",
		why:  "what is not in the contract must stay free to change, and a client that starts in 2 ms must not link a server",
		direct: func(from, to string) bool {
			if within(from, "bm/server") || !within(to, "bm/server") || within(to, "bm/server/api") {
				return false
			}
			hosts := within(from, "bm/cli/serve") || within(from, "bm/cli/up")
			return to != "bm/server" || !hosts
		},
	},
	{
		name: "a feature of the server never imports another",
		why:  "what a feature needs of another it declares as an interface taking the transaction, and server.go wires them: so one transaction can span both without a circle",
		direct: func(from, to string) bool {
			from, to = feature(from), feature(to)
			return from != "" && to != "" && from != to
		},
	},
	{
		name: "what features stand on never imports a feature",
		why:  "the arrows point one way",
		direct: func(from, to string) bool {
			return slices.ContainsFunc(foundations, func(f string) bool { return within(from, f) }) &&
				(feature(to) != "" || to == "bm/server")
		},
	},
	{
		name: "the replica and the syncer don't know HTTP",
		why:  "a round of replication runs in the simulation over any Remote; only the wiring knows which one is real",
		direct: func(from, to string) bool {
			return (within(from, "bm/localstore") || within(from, "bm/syncer")) && within(to, "net/http")
		},
		reach: func(from, to string) bool {
			return (within(from, "bm/localstore") || within(from, "bm/syncer")) && within(to, "bm/server/api/client")
		},
	},
	{
		name: "the replica knows nobody above it",
		why:  "command line, daemon and syncer open the same file; it serves them all alike",
		direct: func(from, to string) bool {
			return within(from, "bm/localstore") && (within(to, "bm/syncer") || within(to, "bm/daemon"))
		},
	},
	{
		name:   "the syncer is scheduled, it doesn't schedule",
		why:    "bm sync runs a round without a daemon",
		direct: func(from, to string) bool { return within(from, "bm/syncer") && within(to, "bm/daemon") },
	},
	{
		name: "localstore, syncer and daemon never see the terminal",
		why:  "they run without one; what a person sees is decided in cli/ alone",
		reach: func(from, to string) bool {
			below := within(from, "bm/localstore") || within(from, "bm/syncer") || within(from, "bm/daemon")
			return below && (within(to, "github.com/spf13/cobra") || within(to, "github.com/spf13/viper") ||
				strings.HasPrefix(to, "github.com/charmbracelet/") || within(to, "bm/cli"))
		},
	},
	{
		name:   "the server never sees the command line",
		why:    "it is a program of its own that cli/serve happens to start",
		reach:  func(from, to string) bool { return within(from, "bm/server") && within(to, "bm/cli") },
		direct: func(from, to string) bool { return within(from, "bm/server") && within(to, "github.com/spf13/cobra") },
	},
	{
		name: "the socket's client is light, and so is the unit",
		why:  "every edit nudges the daemon through daemon/control, or has daemon/unit start it; neither must bring the daemon along",
		reach: func(from, to string) bool {
			light := within(from, "bm/daemon/control") || within(from, "bm/daemon/unit")
			return light && (to == "bm/daemon" || within(to, "bm/syncer") || within(to, "bm/localstore"))
		},
	},
	{
		name: "a noun of the command line never imports another",
		why:  "what commands share is what a command is handed, in cli/app; only the root knows all nouns",
		direct: func(from, to string) bool {
			from, to = noun(from), noun(to)
			return from != "" && to != "" && from != to
		},
	},
	{
		name: "what commands stand on never imports a noun",
		why:  "the arrows point one way",
		direct: func(from, to string) bool {
			return slices.ContainsFunc(commandFoundations, func(f string) bool { return within(from, f) }) &&
				(noun(to) != "" || to == "bm/cli")
		},
	},
	{
		name:   "cmd/bm imports cli alone",
		why:    "main is fifteen lines; whatever else it did could not be tested",
		direct: func(from, to string) bool { return from == "bm/cmd/bm" && isOurs(to) && to != "bm/cli" },
	},
	only("viper", "one place knows where a setting comes from", []string{"bm/cli/config"}, "github.com/spf13/viper"),
	only("go-keyring", "one place holds secrets, and bounds each call", []string{"bm/cli/credentials"}, "github.com/zalando/go-keyring"),
	only("charm", "one place decides what reaches a terminal", []string{"bm/cli/output", "bm/cli/tui"}, "github.com/charmbracelet"),
	only("resty", "one method per operation, one place that parses the envelope", []string{"bm/server/api/client"}, "github.com/go-resty"),
	only("huma", "its traps are hidden once, in op", []string{"bm/server/op"}, "github.com/danielgtaylor/huma"),
	only("kin-openapi", "answers are held to the document in tests; the product makes it, and needs no reader of it", []string{"bm/server/servertest"}, "github.com/getkin"),
	only("Redis", "requests are counted in one place", []string{"bm/server/ratelimit"}, "github.com/gomodule/redigo"),
	only("SQL drivers", "driver codes become our errors at one edge", []string{"bm/server/sqldb", "bm/localstore"},
		"modernc.org/sqlite", "github.com/jackc/pgx"),
	{
		name: "test support stays in tests",
		why:  "a product that links its tests' servers is not the product that was tested",
		direct: func(from, to string) bool {
			return (strings.HasSuffix(to, "test") && isOurs(to) || to == "testing") && !strings.HasSuffix(from, "test")
		},
	},
}

// only lets a module be imported by its owners alone.
func only(what, why string, owners []string, modules ...string) rule {
	return rule{
		name: fmt.Sprintf("%s is imported in %s alone", what, strings.Join(owners, " and ")),
		why:  why,
		direct: func(from, to string) bool {
			return slices.ContainsFunc(modules, func(m string) bool { return within(to, m) }) &&
				!slices.ContainsFunc(owners, func(o string) bool { return within(from, o) })
		},
	}
}

func TestImportGraph(t *testing.T) {
	graph := importGraph(t)
	if len(graph["bm/server/api"]) == 0 {
		t.Fatal("bm/server/api was not found: the graph was not read")
	}
	for _, r := range rules {
		for _, from := range slices.Sorted(maps.Keys(graph)) {
			if r.direct != nil {
				for _, to := range graph[from] {
					if r.direct(from, to) {
						t.Errorf("%s imports %s\n\tagainst: %s\n\tbecause: %s", from, to, r.name, r.why)
					}
				}
			}
			if r.reach != nil {
				for to, way := range reachable(graph, from) {
					if r.reach(from, to) {
						t.Errorf("%s\n\tagainst: %s\n\tbecause: %s", strings.Join(way, " → "), r.name, r.why)
					}
				}
			}
		}
	}
}

// The rules themselves must be able to fail.
func TestImportRulesForbid(t *testing.T) {
	for _, arrow := range []struct{ rule, from, to string }{
		{"the contract is a leaf", "bm/server/api", "golang.org/x/net/html"},
		{"outside server/ only server/api/… is imported", "bm/cli/bookmark", "bm/server/sqldb"},
		{"outside server/ only server/api/… is imported", "bm/cli/serve", "bm/server/sqldb"},
		{"outside server/ only server/api/… is imported", "bm/cli/bookmark", "bm/server"},
		{"a feature of the server never imports another", "bm/server/folders", "bm/server/bookmarks"},
		{"what features stand on never imports a feature", "bm/server/op", "bm/server/auth"},
		{"a noun of the command line never imports another", "bm/cli/tag", "bm/cli/bookmark"},
		{"cmd/bm imports cli alone", "bm/cmd/bm", "bm/cli/app"},
		{"test support stays in tests", "bm/server/auth", "bm/server/servertest"},
	} {
		i := slices.IndexFunc(rules, func(r rule) bool { return r.name == arrow.rule })
		if i < 0 {
			t.Errorf("no rule %q", arrow.rule)
		} else if !rules[i].direct(arrow.from, arrow.to) {
			t.Errorf("%q lets %s import %s", arrow.rule, arrow.from, arrow.to)
		}
	}
	graph := map[string][]string{"bm/syncer": {"bm/localstore"}, "bm/localstore": {"net/http"}}
	if way := reachable(graph, "bm/syncer")["net/http"]; len(way) != 3 {
		t.Errorf("the way from bm/syncer to net/http is %v", way)
	}
}

// Every package says in its doc.go what it is for.
func TestPackagesHaveDoc(t *testing.T) {
	for pkg := range importGraph(t) {
		if pkg == "bm/cmd/bm" || strings.HasSuffix(pkg, "test") {
			continue // a command says it in main.go, a test's support in its only file
		}
		dir := filepath.Join("..", "..", filepath.FromSlash(strings.TrimPrefix(pkg, "bm/")))
		text, err := os.ReadFile(filepath.Join(dir, "doc.go"))
		if err != nil {
			t.Errorf("%s has no doc.go", pkg)
		} else if !strings.Contains(string(text), "// Package "+path.Base(pkg)+" ") {
			t.Errorf("%s: doc.go does not begin with \"Package %s\"", pkg, path.Base(pkg))
		}
	}
}

// importGraph reads which package imports which, tests and the files behind a
// tag of our own left out.
func importGraph(t *testing.T) map[string][]string {
	t.Helper()
	graph := map[string][]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if base := entry.Name(); base == "testdata" || name != root && strings.HasPrefix(base, ".") {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if expr, err := constraint.Parse(comment.Text); err == nil && !expr.Eval(func(tag string) bool { return tag != "deps" }) {
					return nil
				}
			}
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		pkg := path.Join("bm", filepath.ToSlash(dir))
		if _, seen := graph[pkg]; !seen {
			graph[pkg] = nil
		}
		for _, spec := range file.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(graph[pkg], to) {
				graph[pkg] = append(graph[pkg], to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

// reachable maps every package that from leads to onto the way there.
func reachable(graph map[string][]string, from string) map[string][]string {
	ways := map[string][]string{from: {from}}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, to := range graph[queue[0]] {
			if _, seen := ways[to]; !seen {
				ways[to] = append(slices.Clone(ways[queue[0]]), to)
				queue = append(queue, to)
			}
		}
	}
	delete(ways, from)
	return ways
}

func isOurs(pkg string) bool { return within(pkg, "bm") }

// A package of the standard library has no dot in its first element.
func isStandard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !isOurs(pkg) && !strings.Contains(first, ".")
}

// within reports whether pkg is root or below it.
func within(pkg, root string) bool {
	return pkg == root || strings.HasPrefix(pkg, root+"/")
}

// feature is the feature of the server that pkg belongs to, "" for none.
func feature(pkg string) string {
	return roomOf(pkg, "bm/server", foundations)
}

// noun is the noun of the command line that pkg belongs to, "" for none.
func noun(pkg string) string {
	return roomOf(pkg, "bm/cli", commandFoundations)
}

func roomOf(pkg, house string, foundations []string) string {
	rest, below := strings.CutPrefix(pkg, house+"/")
	if !below || strings.HasSuffix(pkg, "test") {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	if room := path.Join(house, first); !slices.Contains(foundations, room) {
		return room
	}
	return ""
}
