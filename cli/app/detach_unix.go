//go:build unix

package app

import (
	"os/exec"
	"syscall"
)

// detach gives a process a session of its own, so that closing the terminal
// does not end it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
