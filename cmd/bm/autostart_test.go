package main_test

import (
	"testing"
)

// The daemon is there from the first edit of whoever is signed in, unless that was
// ruled out; and the first edit of a newer bm puts its own in an older one's place.
func TestTheDaemonStartsByItself(t *testing.T) {
	w := newWorld(t)
	a := w.machine("a", "BM_DAEMON_AUTOSTART=true")
	still := w.machine("a")
	runs := func() bool { _, err := a.try("", "daemon", "status"); return err == nil }
	sent := func() bool { return a.run("sync", "status", "--json", "unsent", "--jq", ".[].unsent") == "0" }
	t.Cleanup(func() { _, _ = a.try("", "daemon", "stop") })
	stop := func() {
		t.Helper()
		a.run("daemon", "stop")
		if runs() {
			t.Fatal("it goes on")
		}
	}

	a.run("add", "https://local.example")
	if runs() {
		t.Error("a daemon runs for a profile that has no server")
	}
	a.register()
	until(t, "the daemon to have sent what was there before the sign-in", func() bool { return runs() && sent() })
	stop()
	still.run("add", "https://still.example")
	if runs() || sent() {
		t.Error("it was started all the same")
	}
	a.run("ls")
	if runs() {
		t.Error("who only reads starts it")
	}

	versions := map[string]string{}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		versions[version] = buildVersion(t, version)
	}
	edits := func(version, want string) {
		t.Helper()
		w.program = versions[version]
		a.run("add", "https://v.example/"+version, "--duplicate")
		until(t, "the daemon "+want, func() bool {
			running, err := a.try("", "doctor", "--json", "check,detail", "--jq", `.[] | select(.check == "daemon") | .detail | split(",")[0]`)
			return err == nil && running == "version "+want+"\n" && sent()
		})
	}
	edits("1.0.0", "1.0.0")
	edits("1.1.0", "1.1.0")
	edits("1.0.0", "1.1.0") // an older bm does not drive a newer one's out
}
