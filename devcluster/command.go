package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Exit codes of a shell for a command that could not be run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the number of the signal
)

// patience is how long a command may take to end at SIGTERM once the cluster
// cannot go on.
const patience = 10 * time.Second

// runCommand runs a command over the cluster to its end, passes the signals on to
// it, and returns what to exit with.
func runCommand(command []string, c *cluster, signals <-chan os.Signal, stderr io.Writer) int {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = c.environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	shared := sharesTerminal()
	detach(cmd, shared)
	// To the kernel the parent of a process is a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	if err := cmd.Start(); err != nil {
		fmt.Fprintf(stderr, "devcluster: %v\n", err)
		return startFailure(err)
	}
	var ending error
	ended := make(chan struct{}) // then ending is set
	// Ends with the command.
	go func() {
		ending = cmd.Wait()
		close(ended)
	}()
	for {
		select {
		case s := <-signals:
			if shared && fromKeyboard(s) {
				continue // the terminal has sent it to the command too
			}
			// It may have ended in the meantime.
			_ = cmd.Process.Signal(s)
		case <-c.broken.Done():
			exit := c.tellBroken(stderr)
			endCommand(cmd, ended)
			return exit
		case <-ended:
			return exitCode(ending, stderr)
		}
	}
}

// endCommand asks the command to end, and makes it.
func endCommand(cmd *exec.Cmd, ended <-chan struct{}) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // as above
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	<-ended
}

func fromKeyboard(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGQUIT
}

func startFailure(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

// exitCode is what a shell would say of a command that has ended with err.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		fmt.Fprintf(stderr, "devcluster: %v\n", err)
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return exit.ExitCode()
}
