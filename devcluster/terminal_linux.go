package main

import "syscall"

// endWithParent has the kernel end the command when this process is killed and
// can no longer do it.
func endWithParent(attr *syscall.SysProcAttr) {
	attr.Pdeathsig = syscall.SIGTERM
}
