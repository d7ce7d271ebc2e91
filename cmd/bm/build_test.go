package main_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// builds are the programs that the tests run, each built once: to link one takes
// longer than most of the tests.
type builds struct {
	mu   sync.Mutex
	dir  string
	made map[string]error // by version
}

var built builds

// of is the program of a version; "" is that of a build that is no release.
func (b *builds) of(version string) (program string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "bm-test-build-"); err != nil {
			return "", err
		}
		b.made = map[string]error{}
	}
	program = executable(filepath.Join(b.dir, "bm"+version))
	err, made := b.made[version]
	if !made {
		err = goBuild(program, ".", version)
		b.made[version] = err
	}
	return program, err
}

func (b *builds) remove() {
	if b.dir != "" {
		_ = os.RemoveAll(b.dir) // the system removes what is temporary
	}
}

// building has what was built removed when the tests are over.
type building struct{ tests *testing.M }

func (b building) Run() int {
	defer built.remove()
	return b.tests.Run()
}

// buildBM puts the program, built as a release is, into a folder.
func buildBM(t testing.TB, dir string) string {
	t.Helper()
	return place(t, dir, "")
}

// buildVersion is the program of a release.
func buildVersion(t testing.TB, version string) string {
	t.Helper()
	return place(t, t.TempDir(), version)
}

func place(t testing.TB, dir, version string) string {
	t.Helper()
	from, err := built.of(version)
	if err != nil {
		t.Fatal(err)
	}
	program := executable(filepath.Join(dir, "bm"))
	if err := os.Link(from, program); err != nil {
		err = copyProgram(from, program) // it is another disk
		if err != nil {
			t.Fatal(err)
		}
	}
	return program
}

func copyProgram(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// executable is a program's file name on this system.
func executable(path string) string {
	if os.PathSeparator == '\\' {
		path += ".exe"
	}
	return path
}

func goBuild(program, target, version string) error {
	flags := "-s -w"
	if version != "" {
		flags += " -X main.version=" + version
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags="+flags, "-o", program, target)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, output)
	}
	return nil
}
