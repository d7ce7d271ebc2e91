//go:build unix

package server

import (
	"fmt"
	"os"
	"syscall"
)

// handOver gives what root made in another user's data folder to that user: an
// administrator works there as root, and the server that comes after does not.
// SQLite does the same with a database's log.
func handOver(dir string, paths ...string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the data folder: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	for _, path := range paths {
		if err := os.Lchown(path, int(owner.Uid), int(owner.Gid)); err != nil {
			return fmt.Errorf("give what was made to the data folder's owner: %w", err)
		}
	}
	return nil
}
