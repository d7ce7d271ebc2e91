package main_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"bm/localstore/storetest"
	"bm/server/api"
	"bm/server/api/client"
	"bm/server/api/exchange/exchangetest"
)

// BenchmarkMachines measures the real program between machines: a hundred
// thousand bookmarks made offline and sent, brought to a new machine, an edit
// seen by the other's daemon, an edit beside a bootstrap; and the memory of those
// who serve them.
func BenchmarkMachines(b *testing.B) {
	rows := 100_000
	if testing.Short() {
		rows = 3_000
	}
	for b.Loop() {
		w := newWorld(b)
		one, two := w.machine("a"), w.machine("b")
		export := w.generated(rows)
		one.run("import", export)
		one.register()
		two.login()
		push := timed(func() { one.run("sync") })
		var peak float64
		bootstrap := timed(func() { peak = two.peak("sync") })
		if n := two.count(); n != rows {
			b.Fatalf("the new machine has %d", n)
		}
		b.ReportMetric(push.Seconds(), "push-s")
		b.ReportMetric(bootstrap.Seconds(), "bootstrap-s")
		b.ReportMetric(push.Seconds()/bootstrap.Seconds(), "push/bootstrap")
		b.ReportMetric(peak, "bootstrap-peak-MB")
		b.ReportMetric(100*bare(b, rows).Seconds()/bootstrap.Seconds(), "bootstrap-%-of-bare")

		one.daemon()
		two.daemon()
		measureStart(b, two)
		measureSeen(b, one, two, rows)
		measureAdd(b, one)
		measureIdle(b, two)
		measureBeside(b, w, rows)
		measureImport(b, w, export)
	}
}

// peak runs a command, and is the most memory that it had, in MB. What the system
// tells when it has ended counts what this process had when it began it.
func (m *machine) peak(args ...string) float64 {
	m.w.t.Helper()
	cmd := exec.Command(m.w.program, args...)
	cmd.Env = m.env
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		m.w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	most := 0.0
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case err := <-ended:
			tick.Stop()
			if err != nil {
				m.w.t.Fatalf("bm %s: %v\n%s", strings.Join(args, " "), err, &said)
			}
			return most
		case <-tick.C:
			most = max(most, highWater(cmd.Process.Pid))
		}
	}
}

// highWater is the most memory that a process had so far, in MB; 0 where it is gone.
func highWater(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.ParseFloat(kilobytes, 64)
	if err != nil {
		return 0
	}
	return n / 1024
}

// BenchmarkFiles measures bringing a hundred thousand bookmarks in from a browser's
// export and out again, as whole programs, without a network.
func BenchmarkFiles(b *testing.B) {
	rows := 100_000
	if testing.Short() {
		rows = 3_000
	}
	for b.Loop() {
		w := newWorld(b)
		m := w.machine("a")
		file := w.generated(rows)
		m.run("ls")
		var most float64
		took := timed(func() { most = m.peak("import", file) })
		b.ReportMetric(100*bare(b, rows).Seconds()/took.Seconds(), "import-%-of-bare")
		b.ReportMetric(most, "import-peak-MB")
		took = timed(func() { most = max(most, m.peak("import", file)) })
		b.ReportMetric(took.Seconds(), "again-s")
		b.ReportMetric(most, "again-peak-MB")
		for _, format := range []string{"html", "json", "csv", "xbel", "md"} {
			took = timed(func() { most = m.peak("export", filepath.Join(b.TempDir(), "out."+format)) })
			b.ReportMetric(took.Seconds(), format+"-s")
			b.ReportMetric(most, format+"-peak-MB")
		}
	}
}

// BenchmarkUnite measures a second machine that has imported the same before it
// signs in: what both have is united, and nothing is there twice.
func BenchmarkUnite(b *testing.B) {
	rows := 100_000
	if testing.Short() {
		rows = 3_000
	}
	for b.Loop() {
		w := newWorld(b)
		one, two, three := w.machine("a"), w.machine("b"), w.machine("c")
		export := w.generated(rows)
		one.run("import", export)
		one.register()
		one.run("sync")
		two.login()
		bootstrap := timed(func() { two.run("sync") })
		three.run("import", export)
		three.login()
		unite := timed(func() { three.run("sync") })
		if n := three.count(); n != rows {
			b.Fatalf("%d are there, want %d", n, rows)
		}
		b.ReportMetric(unite.Seconds(), "unite-s")
		b.ReportMetric(unite.Seconds()/bootstrap.Seconds(), "unite/bootstrap")
	}
}

// bare is how long a bare program takes to write the same rows.
func bare(b *testing.B, rows int) time.Duration {
	schema, err := storetest.Schema("../../localstore/schema")
	if err != nil {
		b.Fatal(err)
	}
	all := exchangetest.Make(1, rows)
	all.Renumber()
	return timed(func() {
		if err := storetest.Bare(b.Context(), filepath.Join(b.TempDir(), "bare.db"), schema, all); err != nil {
			b.Fatal(err)
		}
	})
}

func timed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// quantiles reports the middle and the far end of some durations.
func quantiles(b *testing.B, took []time.Duration, name string) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, name+"-p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, name+"-p99-ms")
}

// measureStart is the time of what only starts and of what reads a screenful, as
// multiples of an empty program's, into a pipe and on a terminal that answers no
// query.
func measureStart(b *testing.B, m *machine) {
	empty := build(b, m.w.dir, "empty", "package main\n\nfunc main() {}\n")
	commands := [][]string{{empty}, {m.w.program, "version"}, {m.w.program, "ls", "--limit", "20"}}
	for where, run := range map[string]func(*exec.Cmd) error{
		"":          (*exec.Cmd).Run,
		"-terminal": onSilentTerminal,
	} {
		took := make([][]time.Duration, len(commands))
		for range 41 {
			for i, args := range commands { // by turns
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Env = append(slices.Clone(m.env), "TERM=xterm-256color", "BM_PAGER=cat")
				warm(b, append(m.replica(), args[0])...)
				began := time.Now()
				if err := run(cmd); err != nil {
					b.Fatalf("%v: %v", args, err)
				}
				took[i] = append(took[i], time.Since(began))
			}
		}
		for i := range took {
			slices.Sort(took[i])
		}
		half := len(took[0]) / 2
		b.ReportMetric(float64(took[1][half])/float64(took[0][half]), "version"+where+"/empty")
		b.ReportMetric(float64(took[2][half])/float64(took[0][half]), "ls"+where+"/empty")
	}
}

// onSilentTerminal runs a command on a terminal of its own, of which nobody
// types or answers anything.
func onSilentTerminal(cmd *exec.Cmd) error {
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return err
	}
	defer func() { _ = terminal.Close() }() // its other end has gone
	_, _ = io.Copy(io.Discard, terminal)    // until that end goes, which is an error
	return cmd.Wait()
}

// measureSeen is from the end of an edit on one machine to its being there on
// the other, looked for again and again by a whole program.
func measureSeen(b *testing.B, one, two *machine, rows int) {
	var took []time.Duration
	for i := range 100 {
		one.run("add", fmt.Sprintf("https://seen.example/%d", i))
		took = append(took, timed(func() {
			until(b, "the edit", func() bool { return two.count() == rows+i+1 })
		}))
	}
	quantiles(b, took, "seen")
}

// measureAdd is the whole program, with a daemon that is done with the edit
// before.
func measureAdd(b *testing.B, m *machine) {
	var took []time.Duration
	for i := range 100 {
		warm(b, append(m.replica(), m.w.program)...)
		took = append(took, timed(func() { m.run("add", fmt.Sprintf("https://add.example/%d", i)) }))
		time.Sleep(100 * time.Millisecond) // a person's pace
	}
	quantiles(b, took, "add")
}

// measureIdle is the memory of a daemon that has nothing to do, and the part
// of a processor that it takes.
func measureIdle(b *testing.B, m *machine) {
	status := m.daemonStatus()
	time.Sleep(5 * time.Second) // it is idleness that is measured
	before := processorTime(b, status.PID)
	time.Sleep(5 * time.Second)
	b.ReportMetric(100*(processorTime(b, status.PID)-before).Seconds()/5, "idle-cpu-%")
	b.ReportMetric(resident(b, status.PID), "daemon-MB")
}

// measureBeside is an edit in one workspace while the daemon brings another.
func measureBeside(b *testing.B, w *world, rows int) {
	three := w.machine("c")
	three.login()
	three.run("workspace", "create", "Small")
	three.run("sync", "--workspace", "Small")
	three.daemon()
	var took []time.Duration
	for i := 0; len(took) < 30 || i < 5000 && three.countIn("Bookmarks") < rows; i++ {
		took = append(took, timed(func() { three.run("add", "--workspace", "Small", fmt.Sprintf("https://beside.example/%d", i)) }))
	}
	quantiles(b, took, "add-beside-bootstrap")
}

// measureImport is the server's memory after an import of an export over HTTP.
func measureImport(b *testing.B, w *world, export string) {
	c, err := client.New(client.Options{Server: "http://" + w.addr, Version: "test", Timeout: 10 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	session, err := c.Login(b.Context(), api.Login{Email: worldEmail, Password: api.Secret(strings.TrimSpace(worldPassword))})
	if err != nil {
		b.Fatal(err)
	}
	c = c.As(session.AccessToken)
	workspace, err := c.CreateWorkspace(b.Context(), api.WorkspaceCreate{Name: "Imported"})
	if err != nil {
		b.Fatal(err)
	}
	file, err := os.Open(export)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	took := timed(func() {
		_, err = c.Import(b.Context(), client.InWorkspace(workspace.ID), filepath.Base(export), file, "")
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(took.Seconds(), "http-import-s")
	b.ReportMetric(resident(b, w.server.cmd.Process.Pid), "server-MB")
}

// countIn is how many bookmarks the machine has of a workspace.
func (m *machine) countIn(workspace string) int {
	m.w.t.Helper()
	n, err := strconv.Atoi(m.run("ls", "--count", "--workspace", workspace))
	if err != nil {
		m.w.t.Fatal(err)
	}
	return n
}

// processorTime is what a process has used.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	// Behind the name, which may hold anything, in its parentheses.
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	var ticks int64
	for _, text := range fields[11:13] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
