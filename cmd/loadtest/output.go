package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/loadtest"
	"github.com/ndbgate/ndbgate/loadtest/page"
)

// Names of the files of a report.
const (
	reportFile = "report.json"
	cellsFile  = "cells.csv"
	pageFile   = "report.html"
)

// output is the directory of a report.
type output struct {
	dir   string
	fresh bool // report.json is not ours to write: it is what was read
	made  bool // the directory was not there before
}

// newOutput takes a directory for the report of a run, and checks that files can
// be written: better now than after the measurement. A directory that has a
// report, or waits for that of another run, is refused.
func newOutput(dir string) (*output, error) {
	o := &output{dir: dir}
	var err error
	if dir == "" {
		o.made = true
		o.dir, err = newResult()
	} else if _, statErr := os.Stat(dir); statErr != nil {
		o.made = true
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(o.dir, reportFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, taken(filepath.Join(o.dir, reportFile))
	}
	if err == nil {
		_, err = f.Write(make([]byte, 64<<10))
		err = errors.Join(err, f.Truncate(0), f.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("--out: no report can be written there: %w", errors.Join(err, o.abandon()))
	}
	return o, nil
}

// taken is the error of a report that is there.
func taken(name string) error {
	if info, err := os.Stat(name); err == nil && info.Size() == 0 {
		return fmt.Errorf("--out: %s is empty: another run will write it, or was killed; remove it then, or name another directory", name)
	}
	return fmt.Errorf("--out: there is a %s already: name another directory, or move it away", name)
}

// resultsDir has the reports of runs without --out.
const resultsDir = "loadtest-results"

// newResult makes a directory with the time as its name, and a number where runs
// begin in the same second.
func newResult() (string, error) {
	if err := os.MkdirAll(resultsDir, 0o755); err != nil {
		return "", err
	}
	name := filepath.Join(resultsDir, time.Now().Format("20060102-150405"))
	dir := name
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		dir = fmt.Sprintf("%s-%d", name, n)
	}
}

// abandon leaves nothing behind where there is no report after all.
func (o *output) abandon() error {
	name := filepath.Join(o.dir, reportFile)
	if info, err := os.Stat(name); err == nil && info.Size() > 0 {
		return nil
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if o.made {
		_ = os.Remove(o.dir) // stays where it has other files
		if filepath.Dir(o.dir) == resultsDir {
			_ = os.Remove(resultsDir) // as well
		}
	}
	return nil
}

// beside is the output of a report that was read from the file.
func beside(file string) *output { return &output{dir: filepath.Dir(file), fresh: true} }

// keep writes the report of a run that goes on.
func (o *output) keep(r *loadtest.Report) error {
	return writeFile(filepath.Join(o.dir, reportFile), func(w io.Writer) error {
		_, err := r.WriteTo(w)
		return err
	})
}

// write writes all files and tells where. Where the directory takes no more, it
// takes the one for temporary files, and returns an error all the same.
func (o *output) write(r *loadtest.Report) (string, error) {
	err := o.writeTo(o.dir, r)
	if err == nil {
		return filepath.Join(o.dir, pageFile), nil
	}
	err = fmt.Errorf("the report cannot be written: %w", err)
	rescue, tempErr := os.MkdirTemp("", "loadtest-")
	if tempErr != nil {
		return "", errors.Join(err, tempErr)
	}
	if rescueErr := o.writeTo(rescue, r); rescueErr != nil {
		return "", errors.Join(err, rescueErr)
	}
	return "", fmt.Errorf("%w; it is in %s instead", err, rescue)
}

func (o *output) writeTo(dir string, r *loadtest.Report) error {
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{reportFile, func(w io.Writer) error { _, err := r.WriteTo(w); return err }},
		{cellsFile, func(w io.Writer) error { return loadtest.WriteCSV(w, r) }},
		{pageFile, func(w io.Writer) error { return page.Write(w, r) }},
	}
	for _, f := range files {
		if f.name == reportFile && o.fresh && dir == o.dir {
			continue
		}
		if err := writeFile(filepath.Join(dir, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file as a whole, or leaves it as it was.
func writeFile(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err = errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

func isDSN(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return strings.HasPrefix(arg, "-") && name == "sql-dsn"
}

func hasValue(arg string) bool { return strings.Contains(arg, "=") }
