package loadtest

import (
	"fmt"
	"slices"
	"strings"
)

// Notes are what a reader must know before trusting the numbers.
func Notes(r *Report) []string {
	var notes []string
	if r.EndedBy != Complete {
		notes = append(notes, "not complete: "+r.EndedBy)
	}
	notes = append(notes, r.Notes...)
	for _, v := range r.Verifications {
		for _, p := range v.Problems {
			notes = append(notes, fmt.Sprintf("rows %s the measurement, by %s: %s", v.When, v.Backend, p))
		}
	}
	for _, kind := range []NoteKind{GeneratorLimits, GeneratorShares, GeneratorWaits, GeneratorLate} {
		if text := worstNote(r, kind); text != "" {
			notes = append(notes, text)
		}
	}
	notes = append(notes, unknownTimes(r)...)
	for i := range r.Cells {
		c := &r.Cells[i]
		if len(c.Errors) > 0 {
			notes = append(notes, c.title()+": "+failures(c))
		}
		if c.Dropped > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d operations were never sent", c.title(), c.Dropped))
		}
		if c.Partial != "" && c.Partial != errMaxOps.Error() && r.EndedBy == Complete {
			notes = append(notes, fmt.Sprintf("%s: measured for %.1f s alone: %s", c.title(), c.Seconds, c.Partial))
		}
	}
	for i := range r.Batches {
		if b := &r.Batches[i]; b.Error != "" {
			notes = append(notes, b.title()+": "+b.Error)
		}
	}
	return shorten(notes)
}

// maxNotes bounds what is shown; the report has all.
const maxNotes = 40

func shorten(notes []string) []string {
	if len(notes) <= maxNotes {
		return notes
	}
	return append(notes[:maxNotes:maxNotes], fmt.Sprintf("and %d more, in the cells of the JSON report", len(notes)-maxNotes))
}

// title names a cell, as in "insert ndb, 8 threads, repeat 2".
func (c *Cell) title() string {
	return fmt.Sprintf("%s, repeat %d", cellName(Line{c.Workload, c.Backend, c.Variant}, c.Threads, c.Rate), c.Repeat)
}

// unknownTimes tells of which processes the processor time is missing.
func unknownTimes(r *Report) []string {
	var notes []string
	seen := map[string]bool{}
	look := func(where string, all []CPU) {
		for _, use := range all {
			if use.Unknown != "" && !seen[use.Name] {
				seen[use.Name] = true
				notes = append(notes, fmt.Sprintf("%s, and perhaps others: the processor time of %s is missing, in sums too: %s", where, use.Name, use.Unknown))
			}
		}
	}
	for i := range r.Cells {
		look(r.Cells[i].title(), r.Cells[i].CPU)
	}
	for i := range r.Batches {
		look(r.Batches[i].title(), r.Batches[i].CPU)
	}
	return notes
}

func (b *Batch) title() string {
	return fmt.Sprintf("%s: %s, %d rows a commit, %s", b.Engine, b.Line().Name(), b.Size, writersText(b.Writers))
}

// worstNote tells the worst note of a kind, and how many cells have one.
func worstNote(r *Report, kind NoteKind) string {
	var worst *Note
	var where string
	n := 0
	for i := range r.Cells {
		c := &r.Cells[i]
		at := slices.IndexFunc(c.Notes, func(note Note) bool { return note.Kind == kind })
		if at < 0 {
			continue
		}
		n++
		if worst == nil || c.Notes[at].Value > worst.Value {
			worst, where = &c.Notes[at], c.title()
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return where + ": " + worst.Text
	default:
		return fmt.Sprintf("in %d of %d cells %s; the worst is %s: %s", n, len(r.Cells), about[kind], where, worst.Text)
	}
}

func failures(c *Cell) string {
	var all int64
	var parts []string
	for _, e := range c.Errors {
		all += e.Count
		parts = append(parts, fmt.Sprintf("%d %s (%s)", e.Count, e.Kind, e.Example))
	}
	return fmt.Sprintf("%d operations failed: %s", all, strings.Join(parts, ", "))
}
