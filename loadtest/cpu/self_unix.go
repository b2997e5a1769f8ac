//go:build unix

package cpu

import (
	"context"
	"syscall"
)

// Self is this process.
type Self struct{}

// Name is that of the generator.
func (Self) Name() string { return string(Generator) }

// Seconds is its user and system time.
func (Self) Seconds(context.Context) (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, nil
}
