package app

import (
	"errors"
	"strings"
	"syscall"
)

// DiskFull reports whether something could not be kept for want of room.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "disk is full")
}
