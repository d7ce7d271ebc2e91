package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"bm/localstore/places/placestest"
)

// firefoxes are the browsers that scripts have running.
type firefoxes struct {
	mu      sync.Mutex
	running map[string]*placestest.Running // by the folder of the profile
	before  map[string]string              // what lay in it
}

// start has Firefox run with a profile that holds what a file lists, until the
// script ends. It has its database locked, and nothing of it but in its log:
//
//	firefox FOLDER LIST
func (f *firefoxes) start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: firefox FOLDER LIST")
	}
	profile, err := placestest.Parse(ts.ReadFile(args[1]))
	ts.Check(err)
	folder := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(folder, 0o700))
	running, err := placestest.Start(context.Background(), filepath.Join(folder, "places.sqlite"), profile)
	ts.Check(err)
	ts.Defer(func() { _ = running.End() }) // the script is over
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[folder], f.before[folder] = running, lying(ts, folder)
}

// does has it run a statement in its database:
//
//	firefoxdoes FOLDER STATEMENT
func (f *firefoxes) does(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: firefoxdoes FOLDER STATEMENT")
	}
	folder := ts.MkAbs(args[0])
	f.mu.Lock()
	defer f.mu.Unlock()
	ts.Check(f.running[folder].Exec(context.Background(), args[1]))
	f.before[folder] = lying(ts, folder)
}

// untouched wants nothing changed in its profile but by itself. The files are not
// opened: to close one would give up the locks that this process has on it.
//
//	untouched FOLDER
func (f *firefoxes) untouched(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: untouched FOLDER")
	}
	folder := ts.MkAbs(args[0])
	f.mu.Lock()
	defer f.mu.Unlock()
	if is := lying(ts, folder); is != f.before[folder] {
		ts.Fatalf("in the profile there was\n%sand is\n%s", f.before[folder], is)
	}
}

// lying is what lies in a folder.
func lying(ts *testscript.TestScript, folder string) string {
	entries, err := os.ReadDir(folder)
	ts.Check(err)
	text := ""
	for _, entry := range entries {
		info, err := entry.Info()
		ts.Check(err)
		text += fmt.Sprintf("%s %d %v %v\n", info.Name(), info.Size(), info.Mode(), info.ModTime())
	}
	return text
}
