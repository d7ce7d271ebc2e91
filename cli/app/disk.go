package app

import (
	"errors"
	"strings"
	"syscall"
)

// noIndexRoom is what SQLite says where there is no room for the index of its
// log, without which it does not even read.
const noIndexRoom = "disk I/O error (4874)"

// DiskFull reports whether something could not be kept for want of room.
func DiskFull(err error) bool {
	text := err.Error()
	return errors.Is(err, syscall.ENOSPC) || strings.Contains(text, "disk is full") || strings.Contains(text, noIndexRoom)
}
