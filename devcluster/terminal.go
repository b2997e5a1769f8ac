package main

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// sharesTerminal is whether this process is in the foreground of a terminal.
// What is typed there then reaches its whole process group.
func sharesTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// detach puts a command in a process group of its own, so that a signal sent
// to the group of this process reaches it once: passed on. At a terminal it
// stays in the group, which makes it the one that reads what is typed and that
// Ctrl-C and Ctrl-Z mean.
func detach(cmd *exec.Cmd, terminal bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !terminal}
	endWithParent(cmd.SysProcAttr)
}
