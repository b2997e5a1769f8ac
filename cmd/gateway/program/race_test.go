//go:build race

package program

// raceEnabled tells that the race detector is there, which has limits of its own.
const raceEnabled = true
