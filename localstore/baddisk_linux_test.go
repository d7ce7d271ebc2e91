package localstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bm/localstore"
	"bm/server/api/needtest"
)

// onABadDisk puts a file on a disk of its own that does not give one of its first
// pages back.
func onABadDisk(t *testing.T, content []byte, page int) (path string) {
	t.Helper()
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			needtest.Missing(t, "loop", "%s %q: %v: %s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if os.Getuid() != 0 {
		needtest.Missing(t, "loop", "only root may mount a disk")
	}
	// The page is moved behind the end that the image is cut to, where a device has
	// nothing to read.
	const blocks, lost, end = 16 << 10, 16380, 16000
	image, dir := filepath.Join(t.TempDir(), "disk"), t.TempDir()
	write(t, image, nil)
	truncate := func(n int64) {
		t.Helper()
		if err := os.Truncate(image, n*4096); err != nil {
			t.Fatal(err)
		}
	}
	truncate(blocks)
	run("/sbin/mkfs.ext2", "-q", "-F", "-b", "4096", image)
	source := filepath.Join(t.TempDir(), "replica.db")
	write(t, source, content)
	edit := func(request string) string { return run("/sbin/debugfs", "-w", "-R", request, image) }
	edit(fmt.Sprintf("write %s replica.db", source))
	was := edit(fmt.Sprintf("bmap /replica.db %d", page))
	was = was[strings.LastIndexByte(was, '\n')+1:] // below the version
	edit(fmt.Sprint("setb ", lost))
	edit("freeb " + was)
	edit(fmt.Sprintf("set_inode_field /replica.db block[%d] %d", page, lost))
	device := run("/sbin/losetup", "--find", "--show", image)
	t.Cleanup(func() { _ = exec.Command("/sbin/losetup", "--detach", device).Run() })
	if err := syscall.Mount(device, dir, "ext2", 0, ""); err != nil {
		needtest.Missing(t, "loop", "mount a disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	truncate(end)
	path = filepath.Join(dir, "replica.db")
	if _, err := os.ReadFile(path); !errors.Is(err, syscall.EIO) {
		t.Fatalf("the disk gives all of it back: %v", err)
	}
	return path
}

// What the disk does not give back is damage, which ends no process and keeps
// nothing of the rest from being saved.
func TestAPageThatTheDiskDoesNotGiveBack(t *testing.T) {
	content := beforeDamage(t)
	for _, page := range []int{0, 1, 4, 7, 11} {
		t.Run(fmt.Sprint(page+1), func(t *testing.T) {
			path := onABadDisk(t, content, page)
			s, err := localstore.Open(t.Context(), options(path))
			if err == nil {
				err = errors.Join(s.Check(t.Context()), s.Close())
			}
			if !errors.Is(err, localstore.ErrDamaged) {
				t.Fatalf("it is taken for sound: %v", err)
			}
			s, did := recoverAt(t, path)
			if err := s.Check(t.Context()); err != nil {
				t.Errorf("the mended file: %v", err)
			}
			// No more than the rows of that page, or their bases, are lost.
			if n := unsentIn(t, s); n < unsentOfDamage*2/3 || n < unsentOfDamage && !did.Incomplete {
				t.Errorf("%d of %d unsent rows are left, %+v", n, unsentOfDamage, did)
			}
			want := bytes.Clone(content)
			clear(want[page*4096 : (page+1)*4096])
			if !bytes.Equal(readAll(t, did.Aside), want) {
				t.Error("what was set aside is not what the disk gave back")
			}
		})
	}
}
