package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
)

// reads says of every command whether it shows what a program may want to read:
// then it has --json, --jq and --template. A new command has to be told of here.
var reads = map[string]bool{
	"add": true, "get": true, "ls": true, "search": true, "open": false, "edit": true, "mv": false, "rm": false, "restore": false,
	"undo": false, "redo": false, "log": true, "random": true, "dupes": true,
	"tag ls": true, "tag add": false, "tag rm": false, "tag rename": false, "tag merge": false,
	"folder ls": true, "folder tree": true, "folder add": false, "folder mv": false, "folder rename": false, "folder rm": false, "folder restore": false,
	"browsers": true, "import": true, "export": false, // which writes bookmarks in a form of their own
	"workspace ls": true, "workspace use": false, "workspace create": false, "workspace rename": false, "workspace rm": false,
	"workspace deleted": true, "workspace restore": false, "workspace settings": true,
	"sync": false, "sync status": true, "sync conflicts": true, "sync resolve": false, "sync parked": true,
	"daemon start": false, "daemon stop": false, "daemon restart": false, "daemon status": true, "daemon logs": false, "daemon pause": false,
	"daemon resume": false, "daemon install": false, "daemon uninstall": false, "daemon run": false,
	"auth login": false, "auth register": false, "auth logout": false, "auth status": true, "auth token": false, "auth switch": true,
	"key ls": true, "key create": false, "key rotate": false, "key revoke": false,
	"up": false, "serve": false, "serve admin migrate": false, "serve admin backup": false, "serve admin restore": false, "serve admin check": true,
	"serve admin purge": false, "serve admin user ls": true, "serve admin user add": false, "serve admin user password": false,
	"serve admin user verify": false, "serve admin user lock": false, "serve admin user unlock": false,
	"api":    false, // what the server answers is JSON; --jq it has
	"doctor": true, "config": true, "config get": false, "config path": true, "completion": false, "man": false, "version": true,
}

// allCommands is the whole tree, without what is only made for shells.
func allCommands() []*cobra.Command {
	streams := output.Fixed(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, time.Now)
	var all []*cobra.Command
	for todo := newRoot(app.New("test", streams, func(string) string { return "" }), "").cmd.Commands(); len(todo) > 0; todo = todo[1:] {
		all = append(all, todo[0])
		todo = append(todo, todo[0].Commands()...)
	}
	return slices.DeleteFunc(all, func(cmd *cobra.Command) bool { return cmd.Name() == "help" })
}

func nameOf(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "bm ") }

func TestWhatReadsHasItsFormats(t *testing.T) {
	there := map[string]bool{}
	for _, cmd := range allCommands() {
		name := nameOf(cmd)
		there[name] = true
		read, known := reads[name]
		if !known && !cmd.HasSubCommands() {
			t.Errorf("bm %s: does it read?", name)
		}
		for _, flag := range []string{"json", "jq", "template"} {
			if has := cmd.LocalFlags().Lookup(flag) != nil; has != read && (name != "api" || flag != "jq") {
				t.Errorf("bm %s --%s: %t, and that it reads is %t", name, flag, has, read)
			}
		}
	}
	for name := range reads {
		if !there[name] {
			t.Errorf("there is no bm %s", name)
		}
	}
}

// What the help and the README show can be typed: the commands and flags in it
// are there, and take as many arguments.
func TestExamplesAreUnderstood(t *testing.T) {
	var lines []string
	for _, cmd := range allCommands() {
		lines = append(lines, strings.Split(cmd.Example, "\n")...)
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(readme)) {
		if strings.HasPrefix(line, "    ") {
			lines = append(lines, line)
		}
	}
	tried := 0
	for _, line := range lines {
		for _, words := range shellCommands(strings.TrimSpace(line)) {
			if words[0] != "bm" || words[len(words)-1] == "…" {
				continue
			}
			tried++
			streams := output.Fixed(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, time.Now)
			root := newRoot(app.New("test", streams, func(string) string { return "" }), "").cmd
			cmd, rest, err := root.Find(words[1:])
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if tried < 150 {
		t.Errorf("there are only %d examples", tried)
	}
}

// shellCommands are the commands of a line as a shell would run them, each as its
// words, for what an example may hold: quotes, pipes, redirections, a comment, a
// command within $(…), which is left as it is.
func shellCommands(line string) [][]string {
	var all [][]string
	var words []string
	var word strings.Builder
	begun, inner := false, 0
	quote := rune(0)
	endWord := func() {
		if begun {
			words = append(words, word.String())
		}
		begun = false
		word.Reset()
	}
	endCommand := func() {
		endWord()
		if at := slices.IndexFunc(words, func(w string) bool { return w == ">" || w == "<" }); at >= 0 {
			words = words[:at]
		}
		if len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	for _, r := range line {
		switch {
		case inner > 0:
			if r == ')' {
				inner--
			}
			word.WriteRune(r)
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == '(' && strings.HasSuffix(word.String(), "$"):
			inner++
			word.WriteRune(r)
		case r == ' ':
			endWord()
		case r == '|' || r == ';':
			endCommand()
		case r == '#' && !begun:
			endCommand()
			return all
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	endCommand()
	return all
}

// Whatever is asked for first is offered: by its own names where this machine
// knows them, as a file where one is wanted, and else as nothing at all.
func TestEveryCommandIsCompleted(t *testing.T) {
	home := t.TempDir()
	for _, line := range []string{"add https://a.example --tag golang --folder Dev", "folder rm Dev --yes", "add https://b.example --tag golang --folder Read"} {
		if code, _, errs := bm(t, home, "", strings.Fields(line)...); code != exitDone {
			t.Fatalf("bm %s: exit %d, %s", line, code, errs)
		}
	}
	offered := map[string]string{
		"FOLDER": "\nRead\n", "[FOLDER]": "\nRead\n", "TAG": "golang\n", "TAG…": "golang\n", "TAG[,TAG…]": "golang\n", "WORKSPACE": "local\tLocal\n",
		"[PROFILE]": "default\n", "SETTING": "server\n", "METHOD": "GET\n", "bash|zsh|fish|powershell": "zsh\n",
	}
	for _, cmd := range allCommands() {
		if cmd.HasSubCommands() || cmd.Hidden {
			continue
		}
		name := nameOf(cmd)
		words := strings.Fields(cmd.Use)
		wants := ""
		if len(words) > 1 {
			wants = words[1]
		}
		_, out, _ := bm(t, home, "", append(append([]string{"__complete"}, strings.Fields(name)...), "")...)
		offer, directive := offered[wants], ":4\n"
		switch name {
		case "folder restore":
			offer = "\nDev\n" // which is deleted
		case "workspace restore":
			offer = "" // only the server knows those that are deleted
		}
		if strings.Trim(wants, "[]|-") == "FILE" {
			directive = ":0\n"
		}
		if !strings.HasSuffix(out, directive) || !strings.Contains("\n"+out, offer) {
			t.Errorf("bm %s %s: %q", name, wants, out)
		}
	}
}

// The help and the README tell every code that a command can end with.
func TestEveryExitCodeIsTold(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(strings.Fields(string(readme)), " ")
	for code, says := range map[int]string{
		exitDone: "done", exitFailed: "failed", exitUsage: "usage", exitNotFound: "not found", exitSignIn: "sign in first", exitConflict: "conflict or duplicate",
		exitPartly: "partly done", exitOffline: "offline", exitBrake: "refused by a safety brake", exitInterrupted: "interrupted",
	} {
		text := strconv.Itoa(code) + " " + says
		if !strings.Contains(told, text) {
			t.Errorf("the README does not say %q", text)
		}
		if !regexp.MustCompile(`(?m)(^|\s)` + strconv.Itoa(code) + ` +(wrong )?` + says + `(\s|$)`).MatchString(exitCodes) {
			t.Errorf("the help does not say %q", text)
		}
	}
	for kind, code := range kindCodes {
		if !strings.Contains(exitCodes, strconv.Itoa(code)+"  ") {
			t.Errorf("the help does not tell %d, of kind %d", code, kind)
		}
	}
}
