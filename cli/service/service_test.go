package service

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnitsNameTheProgramAsItIs(t *testing.T) {
	const self = `/opt/my "bm" 100%/$bin/bm`
	env := []string{`BM_DATA_DIR=/data & <more>`}

	u := systemdUnit("/home/me/.config", self, env)
	if want := filepath.Join("/home/me/.config", "systemd", "user", "bm.service"); u.path != want {
		t.Errorf("path %s, want %s", u.path, want)
	}
	for _, want := range []string{
		`ExecStart="/opt/my \"bm\" 100%%/$$bin/bm" daemon run` + "\n",
		`Environment="BM_DATA_DIR=/data & <more>"` + "\n",
		"WantedBy=default.target\n",
	} {
		if !strings.Contains(u.text, want) {
			t.Errorf("the unit lacks %q:\n%s", want, u.text)
		}
	}

	agent, err := launchAgent("/Users/me", self, env)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for decoder := xml.NewDecoder(strings.NewReader(agent.text)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the agent is not XML: %v\n%s", err, agent.text)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			texts = append(texts, string(data))
		}
	}
	if all := strings.Join(texts, "|"); !strings.Contains(all, self+"|daemon|run") || !strings.Contains(all, "BM_DATA_DIR|/data & <more>") {
		t.Errorf("the agent says %s", all)
	}

	task := logonTask(`C:\Users\me`, `C:\Program Files\bm.exe`)
	if got := task.on[0][len(task.on[0])-1]; got != `"C:\Program Files\bm.exe" daemon run` {
		t.Errorf("the task runs %s", got)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]string{
		"":                     "",
		"one\n":                "one\n",
		"one\ntwo\nthree\n":    "two\nthree\n",
		"one\ntwo\nunfinished": "two\nunfinished",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := tail(path, 2); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := tail(path+"x", 2); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no log: %v", err)
	}
}
