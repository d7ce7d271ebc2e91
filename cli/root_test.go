package cli

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
)

// bm runs a command line in a home of the test's own.
func bm(t *testing.T, home, input string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "HOME": home, "BM_DAEMON_AUTOSTART": "false"}
	a := app.New("test", output.Fixed(strings.NewReader(input), &stdout, &stderr, time.Now), func(key string) string { return env[key] })
	code = Run(context.Background(), a, args)
	return code, stdout.String(), stderr.String()
}

// bmShown runs a command line on a terminal, and is what a person sees.
func bmShown(t *testing.T, home string, width int, args ...string) (out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "HOME": home, "BM_DAEMON_AUTOSTART": "false"}
	streams := output.Fixed(strings.NewReader(""), &stdout, &stderr, time.Now).Terminal(width)
	a := app.New("test", streams, func(key string) string { return env[key] })
	Run(context.Background(), a, args)
	styles := regexp.MustCompile("\x1b\\[[0-9;]*m")
	return styles.ReplaceAllString(stdout.String(), ""), styles.ReplaceAllString(stderr.String(), "")
}

// Where there is little room for a URL, it is not spent on what all begin with.
func TestAURLOnANarrowTerminal(t *testing.T) {
	home := t.TempDir()
	bm(t, home, "", "add", "https://a.example/one-of-many-others", "--title", "A title that is longer than most", "--folder", "Some folder", "--tag", "tag,other")
	out, _ := bmShown(t, home, 80, "ls")
	if !strings.Contains(out, "  A title that is longer th…  a.example/one-of-many…  ") {
		t.Errorf("80 columns: %s", out)
	}
	if out, _ = bmShown(t, home, 200, "ls"); !strings.Contains(out, "  https://a.example/one-of-many-others") {
		t.Errorf("200 columns: %s", out)
	}
}

// Where a bookmark has no title its URL stands in one column, not in two.
func TestABookmarkWithoutATitle(t *testing.T) {
	home := t.TempDir()
	bm(t, home, "", "add", "https://bare.example/")
	for _, test := range []struct{ width, times int }{{80, 1}, {40, 1}, {24, 1}} {
		if out, errs := bmShown(t, home, test.width, "ls"); strings.Count(out, "bare.example/") != test.times || errs != "" {
			t.Errorf("%d columns: %q", test.width, out+errs)
		}
	}
	if out, _ := bmShown(t, home, 80, "get", "https://bare.example/"); strings.Count(out, "https://") != 1 || strings.Contains(out, "title") {
		t.Errorf("%q", out)
	}
}

// That nobody has checked a link yet is nothing to show to a person; a program is told
// what --json says.
func TestALinkThatNobodyChecked(t *testing.T) {
	home := t.TempDir()
	bm(t, home, "", "add", "https://go.dev/")
	if out, _ := bmShown(t, home, 80, "get", "https://go.dev/"); strings.Contains(out, "link") {
		t.Errorf("a person sees %q", out)
	}
	if _, out, _ := bm(t, home, "", "get", "https://go.dev/"); !strings.Contains(out, "\nlink\tunknown\n") {
		t.Errorf("a program reads %q", out)
	}
}

// A list without rows says why on a terminal, and nothing to a program.
func TestAListWithoutRows(t *testing.T) {
	home := t.TempDir()
	for line, want := range map[string]string{
		"ls":                  "There are no bookmarks yet: bm add https://… keeps one",
		"ls --tag x":          "Nothing was found.",
		"ls --deleted":        "Nothing was deleted that can be restored.",
		"ls / --recursive":    "No bookmark is in this folder or below it.",
		"ls /":                "--recursive shows those below it",
		"search x":            "Nothing was found.",
		"dupes":               "Nothing is kept more than once.",
		"tag ls":              "No bookmark has a tag yet",
		"tag ls x":            `No tag begins with "x".`,
		"folder ls":           "There are no folders yet",
		"folder tree":         "There are no folders yet",
		"folder ls --deleted": "No folder was deleted",
		"log":                 "Nothing was done on this machine yet.",
		"search --saved":      "No query is kept yet: bm search QUERY --save NAME keeps one.",
		"sync conflicts":      "There is no conflict in Local.",
		"sync parked":         "No edit of Local is refused.",
	} {
		if out, errs := bmShown(t, home, 80, strings.Fields(line)...); out != "" || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("bm %s: %q, %q, want %q", line, out, errs, want)
		}
		if _, out, errs := bm(t, home, "", strings.Fields(line)...); out+errs != "" {
			t.Errorf("bm %s in a pipe: %q", line, out+errs)
		}
		if strings.Contains(line, "tree") {
			continue
		}
		if out, errs := bmShown(t, home, 80, append(strings.Fields(line), "--jq", "length")...); out != "0\n" || errs != "" {
			t.Errorf("bm %s --jq: %q", line, out+errs)
		}
	}
}

// Whoever tags a bookmark at the same moment, every tag stays.
func TestTagsOfEditsAtOnce(t *testing.T) {
	home := t.TempDir()
	bm(t, home, "", "add", "https://a.example/", "--tag", "first")
	const many = 12
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			if code, _, errs := bm(t, home, "", "edit", "https://a.example/", "--add-tag", fmt.Sprint("tag-", i), "--title", fmt.Sprint(i)); code != exitDone {
				t.Errorf("exit %d, %s", code, errs)
			}
		})
	}
	all.Wait()
	if _, out, _ := bm(t, home, "", "get", "https://a.example/", "--json", "tags", "--jq", ".tags | length"); out != fmt.Sprintln(many+1) {
		t.Errorf("of %d tags there are %s", many+1, out)
	}
	bm(t, home, "", "edit", "https://a.example/", "--add-tag", "x,y", "--remove-tag", "x,first", "--title", "T")
	if _, out, _ := bm(t, home, "", "get", "https://a.example/", "--json", "tags", "--jq", ".tags | sort | join(\",\")"); strings.Contains(out, "x") || strings.Contains(out, "first") || !strings.Contains(out, "y") {
		t.Errorf("tags: %s", out)
	}
	if _, out, _ := bm(t, home, "", "log", "--limit", "1", "--json", "updated"); out != "[{\"updated\":1}]\n" {
		t.Errorf("the log: %s", out)
	}
}

// The table of names must not drift from the commands that there are.
func TestNounsNameTheirCommands(t *testing.T) {
	a := app.New("test", output.Fixed(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, time.Now), func(string) string { return "" })
	for _, n := range nouns {
		var names []string
		for _, cmd := range n.make(a, newRoot(a, "").cmd) {
			names = append(append(names, cmd.Name()), cmd.Aliases...)
		}
		slices.Sort(names)
		listed := slices.Sorted(slices.Values(n.names))
		if !slices.Equal(names, listed) {
			t.Errorf("the table says %v, the commands are %v", listed, names)
		}
	}
}

// Every command that can be run shows how in its help.
func TestCommandsHaveExamples(t *testing.T) {
	a := app.New("test", output.Fixed(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, time.Now), func(string) string { return "" })
	commands := newRoot(a, "").cmd.Commands()
	for len(commands) > 0 {
		cmd := commands[0]
		commands = append(commands[1:], cmd.Commands()...)
		if cmd.Name() == "help" || cmd.Hidden {
			continue
		}
		if cmd.Short == "" {
			t.Errorf("%s says nothing about itself", cmd.CommandPath())
		}
		groups := []string{"bm tag", "bm folder"}
		if (!cmd.HasSubCommands() || slices.Contains(groups, cmd.CommandPath())) && cmd.Example == "" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if value, _ := pflag.UnquoteUsage(f); value == "string" && !strings.HasPrefix(cmd.CommandPath(), "bm serve") {
				t.Errorf("%s --%s: a string of what?", cmd.CommandPath(), f.Name)
			}
		})
		for line := range strings.Lines(cmd.Long) {
			if utf8.RuneCountInString(line) > 90 && !strings.HasPrefix(cmd.CommandPath(), "bm serve") {
				t.Errorf("%s: a line of the help is long: %s", cmd.CommandPath(), line)
			}
		}
		if strings.Contains(cmd.Example, "\t") {
			t.Errorf("%s: an example is indented with tabs", cmd.CommandPath())
		}
	}
}

// Whatever the command, a flag that it lacks is told of, and a list of fields
// that it has none of.
func TestAWrongFlagOfEveryCommand(t *testing.T) {
	home := t.TempDir()
	a := app.New("test", output.Fixed(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, time.Now), func(string) string { return "" })
	commands := newRoot(a, "").cmd.Commands()
	for len(commands) > 0 {
		cmd := commands[0]
		commands = append(commands[1:], cmd.Commands()...)
		line := strings.Fields(cmd.CommandPath())[1:]
		want := cmd.CommandPath() + " has no flag --no-such-flag.\n  try: "
		if code, _, errs := bm(t, home, "", append(line, "--no-such-flag")...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %q", cmd.CommandPath(), code, errs)
		}
		want = "--json wants one or more fields"
		if cmd.LocalFlags().Lookup("json") == nil {
			want = cmd.CommandPath() + " has no flag --json."
		}
		if code, _, errs := bm(t, home, "", append(line, "--json")...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s --json: exit %d, %q", cmd.CommandPath(), code, errs)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	home := t.TempDir()
	// A name that is empty, as of a variable that a script never set, is near to none.
	for group, next := range map[string]string{"": "bm --help", "folder": "bm folder --help"} {
		if code, _, errs := bm(t, home, "", append(strings.Fields(group), "")...); code != exitUsage || !strings.HasSuffix(errs, "try: "+next+"\n") {
			t.Errorf("bm %s \"\": exit %d: %q", group, code, errs)
		}
	}
	for line, want := range map[string]string{
		"serach x":             `There is no command "serach".` + "\n  try: bm search",
		"zzz":                  `There is no command "zzz".` + "\n  try: bm --help",
		"folder lss":           `There is no command "lss" in "bm folder".` + "\n  try: bm folder ls",
		"serve admin user rm":  `There is no command "rm" in "bm serve admin user".` + "\n  try: bm serve admin user --help",
		"ad x":                 `There is no command "ad".` + "\n  try: bm add",
		"SERCH x":              `There is no command "SERCH".` + "\n  try: bm search",
		"completion":           "bm completion wants one of: bash, zsh, fish, powershell.\n  try: bm completion bash",
		"import":               "bm import wants FILE, or - for the standard input.\n  try: bm import FILE",
		"ls --lmit 3":          "bm ls has no flag --lmit.\n  try: --limit",
		"ls --folder Dev":      "bm ls has no flag --folder.\n  try: bm ls FOLDER",
		"mv x --folder Dev":    "bm mv has no flag --folder.\n  try: bm mv BOOKMARK… FOLDER",
		"import --file x":      "bm import has no flag --file.\n  try: bm import FILE\n",
		"tag rm --tag x":       "bm tag rm has no flag --tag.\n  try: bm tag rm TAG,TAG… BOOKMARK…\n",
		"edit --mark x":        "bm edit has no flag --mark.\n  try: bm edit --help",
		"ls --limit x":         `--limit "x": a number is wanted.`,
		"ls --count=maybe":     `--count "maybe": it is on or off: true or false is wanted.`,
		"ls --limit":           `--limit wants a value: --limit MANY.`,
		"ls a b":               "bm ls takes 1 argument, not 2.\n  try: bm ls [FOLDER]",
		"log x":                `bm log takes no argument "x".`,
		"mv x":                 "bm mv wants BOOKMARK… FOLDER, and got 1 argument.\n  try: bm mv BOOKMARK… FOLDER",
		"sync --now --wait":    "--now and --wait exclude each other.",
		"folder mv":            "bm folder mv wants FOLDER INTO.\n  try: bm folder mv FOLDER INTO",
		"api /api/v1/me":       "bm api wants a method before the path.\n  try: bm api GET /api/v1/me",
		"api /x GET":           "\"/x\" is no method: one of GET, POST, PATCH, PUT, DELETE, HEAD is wanted.\n  try: bm api GET /x",
		"ls -Z":                "bm ls has no flag -Z.\n  try: bm ls --help",
		"mv a.example -x/y":    "bm mv has no flag -x.\n  try: bm mv -- -x/y   where that is no flag",
		"search -draft go":     "bm search has no flag -d.\n  try: bm search -- -draft   where that is no flag",
		"ls --sort -relevance": `--sort "-relevance": the best come first`,
		"ls --limit -1":        "--limit -1: a number from 0 is wanted.",
		"ls --status x":        `--status "x": one of`,
		"ls --sort x":          `--sort "x": one of`,
		"get":                  "bm get wants BOOKMARK.\n  try: bm get BOOKMARK",
		"ls --json nope":       `There is no field "nope"`,
		"ls --json id,titel":   "unsent, deleted.\n  try: title   if that was meant",
		"ls --json":            "--json wants one or more fields",
		"edit x":               "There is nothing to change.",
		"rm":                   "Say which bookmarks to delete",
		"search":               "There is nothing to search for.",
		"tag rm x":             "Say which bookmarks",
		"completion tcsh":      "bm completion takes one of: bash, zsh, fish, powershell.",
		"--profile ../x ls":    "a profile's name has",
		"add":                  "There was no URL on the standard input.",
	} {
		code, _, errs := bm(t, home, "", strings.Fields(line)...)
		if code != exitUsage && !strings.HasPrefix(line, "--profile") || !strings.Contains(errs, want) {
			t.Errorf("bm %s: exit %d, %q, want %q", line, code, errs, want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	home := t.TempDir()
	for _, step := range []struct {
		line  string
		input string
		want  int
	}{
		{"add https://a.example --tag x", "", exitDone},
		{"add https://a.example", "", exitConflict},
		{"add", "https://a.example\nhttps://b.example\n", exitPartly},
		{"get https://c.example", "", exitNotFound},
		{"folder rm nope --yes", "", exitNotFound},
		{"rm https://a.example", "", exitUsage}, // nobody to ask
		{"rm https://a.example --yes", "", exitDone},
		{"get https://a.example", "", exitNotFound},
		{"undo", "", exitDone},
		{"get https://a.example", "", exitDone},
		{"redo", "", exitDone},
		{"redo", "", exitNotFound},
		{"add javascript:alert(1) --title js", "", exitDone},
		{"open javascript:alert(1)", "", exitBrake},
		{"ls -w nowhere", "", exitNotFound},
		{"tag rename nope x", "", exitNotFound},
	} {
		if code, out, errs := bm(t, home, step.input, strings.Fields(step.line)...); code != step.want {
			t.Errorf("bm %s: exit %d, want %d\n%s%s", step.line, code, step.want, out, errs)
		}
	}
}

// A script restores as many at once as it deletes.
func TestRestoreOfMany(t *testing.T) {
	home := t.TempDir()
	const many, some = 10_000, 1000
	var text strings.Builder
	text.WriteString("<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n")
	for i := range many {
		fmt.Fprintf(&text, "<DT><A HREF=\"https://a.example/%d\">one of many</A>\n", i)
	}
	bm(t, home, text.String(), "import", "-")
	bm(t, home, "", "rm", "--query", "many", "--yes")
	urls := []string{"restore"}
	for i := range some {
		urls = append(urls, fmt.Sprintf("https://a.example/%d", i))
	}
	began := time.Now()
	if code, _, errs := bm(t, home, "", urls...); code != exitDone || errs != fmt.Sprintf("Restored %d bookmarks.\n", some) {
		t.Fatalf("exit %d, %s", code, errs)
	}
	restored := time.Since(began)
	_, out, _ := bm(t, home, "", "ls", "--json", "id", "--jq", ".[].id")
	ids := strings.Fields(out)
	began = time.Now()
	if code, _, errs := bm(t, home, "", append([]string{"rm", "--yes"}, ids...)...); code != exitDone {
		t.Fatalf("exit %d, %s", code, errs)
	}
	if deleted := time.Since(began); restored > 8*deleted+time.Second {
		t.Errorf("to restore %d took %v, to delete them %v", some, restored, deleted)
	}
	for i := range ids {
		ids[i] = ids[i][:30] // the beginning of an id is as good
	}
	if code, _, errs := bm(t, home, "", append([]string{"restore", ids[0]}, ids[:3]...)...); code != exitDone || errs != "Restored 3 bookmarks.\n" {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// A restore says what becomes of the database that is there; where none is, it speaks
// of none.
func TestARestoreSpeaksOfWhatIsThere(t *testing.T) {
	home := t.TempDir()
	backup, empty, full := filepath.Join(home, "backup.db"), filepath.Join(home, "empty"), filepath.Join(home, "full")
	for _, path := range []string{backup, filepath.Join(full, "bm.db")} {
		if err := config.WritePrivate(path, []byte("SQLite format 3\x00")); err != nil {
			t.Fatal(err)
		}
	}
	for dir, aside := range map[string]bool{empty: false, full: true} {
		_, errs := bmShown(t, home, 80, "serve", "admin", "restore", backup, "--data-dir", dir)
		if !strings.HasPrefix(errs, "Restore backup.db into "+dir) || strings.Contains(errs, "set aside") != aside {
			t.Errorf("%s: it asks %q", dir, errs)
		}
	}
}

// Who is asked is told what it is about: by the name that was typed, and with all that
// goes along.
func TestWhatIsAskedAbout(t *testing.T) {
	home := t.TempDir()
	bm(t, home, "", "add", "https://a.example", "--folder", "Dev/Go")
	bm(t, home, "", "folder", "add", "Dev/Rust", "Empty")
	for folder, want := range map[string]string{
		"Dev":   "Delete the folder Dev with 2 folders and 1 bookmark in it? [y/N] ",
		"Empty": "Delete the folder Empty with 0 bookmarks in it? [y/N] ",
	} {
		if _, errs := bmShown(t, home, 80, "folder", "rm", folder); !strings.HasPrefix(errs, want) {
			t.Errorf("it asks %q, want %q", errs, want)
		}
	}
}

// A help fits into the terminal: what is longer is broken between words. What is to be
// copied stays as it is.
func TestAHelpFits(t *testing.T) {
	home := t.TempDir()
	var commands [][]string
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		commands = append(commands, path)
		for _, sub := range cmd.Commands() {
			walk(sub, append(slices.Clone(path), sub.Name()))
		}
	}
	walk(newRoot(app.New("test", output.System(func(string) string { return "" }), func(string) string { return "" }), "").cmd, nil)
	for _, width := range []int{40, 80} {
		lines := 0
		for _, path := range commands {
			help, _ := bmShown(t, home, width, append(slices.Clone(path), "--help")...)
			part := ""
			for line := range strings.SplitSeq(help, "\n") {
				if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") || strings.HasPrefix(line, `Use "`) {
					part = line
				}
				narrow := width < 80 && !strings.HasSuffix(part, "lags:") && part != "" // lists of commands, and exit codes
				if strings.HasPrefix(line, "  ") && (part == "" || part == "Examples:" || part == "Usage:") || narrow {
					continue
				}
				if lines++; utf8.RuneCountInString(strings.TrimRight(line, " ")) > width {
					t.Errorf("bm %s, %d columns: %s", strings.Join(path, " "), width, line)
				}
			}
		}
		if lines < 1000 {
			t.Errorf("%d lines were looked at", lines)
		}
	}
}
