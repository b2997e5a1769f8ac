//go:build !unix

package cpu

import "context"

// Self is this process.
type Self struct{}

// Name is that of the generator.
func (Self) Name() string { return string(Generator) }

// Seconds is not known here.
func (Self) Seconds(context.Context) (float64, error) { return 0, errNotHere }
