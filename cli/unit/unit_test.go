package unit

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUnitsNameTheProgramAsItIs(t *testing.T) {
	const self = `/opt/my "bm" 100%/$bin/bm`
	env := []string{`BM_DATA_DIR=/data & <more>`}

	u := systemdUnit("/home/me/.config", self, env)
	if want := filepath.Join("/home/me/.config", "systemd", "user", "bm.service"); u.Path != want {
		t.Errorf("path %s, want %s", u.Path, want)
	}
	for _, want := range []string{
		`ExecStart="/opt/my \"bm\" 100%%/$$bin/bm" daemon run` + "\n",
		`Environment="BM_DATA_DIR=/data & <more>"` + "\n",
		"WantedBy=default.target\n",
	} {
		if !strings.Contains(u.Text, want) {
			t.Errorf("the unit lacks %q:\n%s", want, u.Text)
		}
	}

	agent, err := launchAgent("/Users/me", self, env)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for decoder := xml.NewDecoder(strings.NewReader(agent.Text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the agent is not XML: %v\n%s", err, agent.Text)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			texts = append(texts, string(data))
		}
	}
	if all := strings.Join(texts, "|"); !strings.Contains(all, self+"|daemon|run") || !strings.Contains(all, "BM_DATA_DIR|/data & <more>") {
		t.Errorf("the agent says %s", all)
	}

	task := logonTask(`C:\Users\me`, `C:\Program Files\bm.exe`)
	if got := task.enable[0][len(task.enable[0])-1]; got != `"C:\Program Files\bm.exe" daemon run` {
		t.Errorf("the task runs %s", got)
	}
}

// What the system starts has none of what a shell's own files set.
func TestTheDaemonLooksWhereTheCommandsLook(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"BM_CONFIG_DIR": "c", "BM_DATA_DIR": "/d", "XDG_CONFIG_HOME": "/x/config", "XDG_DATA_HOME": "/x/data", "XDG_STATE_HOME": "not/absolute", "HOME": "/h",
	}
	got, err := whereToLook(func(name string) string { return env[name] })
	want := []string{"BM_CONFIG_DIR=" + filepath.Join(here, "c"), "BM_DATA_DIR=/d", "XDG_CONFIG_HOME=/x/config", "XDG_DATA_HOME=/x/data"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// What go run makes is gone when it ends.
func TestAProgramThatIsNotKept(t *testing.T) {
	for program, kept := range map[string]bool{
		"/usr/bin/bm":                           true,
		"/tmp/go-build2819/b001/exe/bm":         false,
		"/home/me/.cache/go-build/4f/4f00-d/bm": false,
		"/home/me/src/go-build-tools/bm":        true,
		"/home/me/go-builds/bm":                 true,
	} {
		u := systemdUnit("/home/me/.config", filepath.FromSlash(program), nil)
		if err := u.Lasts(); (err == nil) != kept {
			t.Errorf("%s: %v", program, err)
		}
	}
}
