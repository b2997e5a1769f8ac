//go:build !linux

package cpu

import (
	"context"
	"errors"
)

var errNotHere = errors.New("processor time of other processes is only known on Linux; name a metrics URL")

type process struct {
	name string
	pid  int
}

func (p *process) Name() string                             { return p.name }
func (p *process) Seconds(context.Context) (float64, error) { return 0, errNotHere }

type group struct {
	name, text string
}

func (g *group) Name() string                             { return g.name }
func (g *group) Seconds(context.Context) (float64, error) { return 0, errNotHere }

// Find finds nothing here.
func Find(string) []Source { return nil }

// Listening finds nothing here.
func Listening(string, int) (Source, bool) { return nil, false }

// Host is not known here.
func Host() (used, all float64, err error) { return 0, 0, errNotHere }
