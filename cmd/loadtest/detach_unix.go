//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// detach keeps a command out of the terminal's group.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
