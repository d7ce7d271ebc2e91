package app

import (
	"os/exec"
	"syscall"
)

const detachedProcess = 0x8

// detach gives a process no console, so that closing one does not end it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess, HideWindow: true}
}
