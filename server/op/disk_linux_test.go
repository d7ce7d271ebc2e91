package op_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"bm/server/api"
	"bm/server/api/needtest"
	"bm/server/op"
)

// A file for which the disk has no room is refused as what it is, and leaves
// nothing behind.
func TestUploadsOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("bm-test", dir, "tmpfs", 0, "size=1m,mode=700"); err != nil {
		needtest.Missing(t, "mount", "a disk that can be full has to be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	w := newWorld(t, declareUpload, func(d *op.Deps) { d.SpoolDir = dir })
	path := "/workspaces/" + home + "/upload"
	large, kind := form(t, [3]string{"file", "b.html", strings.Repeat("x", 4<<20)})
	a := w.do(t, "POST", path, "ada", large, "Content-Type", kind)
	if e := a.want(t, api.CodeUnavailable); strings.Contains(e.Message, dir) || !strings.Contains(e.Message, "room") || a.header.Get("Retry-After") == "" {
		t.Errorf("%+v %v", e, a.header)
	}
	if !strings.Contains(w.log.String(), "no space left") {
		t.Errorf("the log does not say why:\n%s", w.log.String())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files stay: %v, %v", left, err)
	}
	small, kind := form(t, [3]string{"file", "b.html", "x"})
	w.do(t, "POST", path, "ada", small, "Content-Type", kind).ok(t, 200)
}
