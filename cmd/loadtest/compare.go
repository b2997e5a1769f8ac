package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/ndbgate/ndbgate/loadtest"
)

const compareHelp = `Compares two reports cell by cell: throughput of closed loops, p99 of open ones,
the time of batches. A change that may be chance is shown as ~ (p of 0.05 and
more); with one repeat nobody can tell, and a question mark says so. Reports of
different measurements are refused. The exit code is 1 where a cell is worse by
more than --max-regress, and not by chance as far as can be told.`

type compareFlags struct {
	regress string
	unlike  bool
}

func newCompareFlags() (*compareFlags, *flag.FlagSet) {
	f := &compareFlags{}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.StringVar(&f.regress, "max-regress", "5%", "how much worse a cell may be")
	flags.BoolVar(&f.unlike, "unlike", false, "compare reports of different measurements all the same")
	return f, flags
}

// maxRegress bounds --max-regress, in percent. Beyond it is a slip, as NaN is.
const maxRegress = 10_000

func compareCommand(args []string, p process) error {
	f, flags := newCompareFlags()
	if err := parseFlags(flags, args, p); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return badUsage("compare takes two reports, the old one first; flags come before them")
	}
	most, err := strconv.ParseFloat(strings.TrimSuffix(f.regress, "%"), 64)
	if err != nil || !(most >= 0 && most <= maxRegress) {
		return badUsage("--max-regress %q: want a percentage such as 5%%", f.regress)
	}
	var reports [2]*loadtest.Report
	for i, name := range flags.Args() {
		if reports[i], err = readReport(name); err != nil {
			return err
		}
	}
	c, err := loadtest.Compare(reports[0], reports[1], f.unlike)
	if errors.Is(err, loadtest.ErrUnlike) && !f.unlike {
		return fmt.Errorf("%w; --unlike compares them all the same", err)
	}
	if err != nil {
		return err
	}
	if err := c.WriteTable(p.stdout); err != nil {
		return err
	}
	worse := c.Regressions(most / 100)
	if len(worse) == 0 {
		return nil
	}
	for i := range worse {
		fmt.Fprintf(p.stderr, "loadtest: worse by %.1f %%: %s\n", worse[i].Regress()*100, worse[i].Cell)
	}
	return errTold
}

func readReport(name string) (*loadtest.Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	report, err := loadtest.ReadReport(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return report, nil
}
