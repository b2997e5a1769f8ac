package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// BenchmarkStreams moves b.N rows in one import, and then in one export, by each
// road: -benchtime 1000000x is the million. Beside rows/s it tells the most
// memory that the gateway had, in MB. Everything runs on one machine.
func BenchmarkStreams(b *testing.B) {
	dsns := cluster(b)
	for _, mode := range []string{"fail", "replace"} {
		for _, road := range roads {
			b.Run("import/"+mode+"/"+road, func(b *testing.B) {
				g := serve(b, dsns).on(road)
				b.Cleanup(func() { g.deleteStreamed(b, b.N) })
				b.ResetTimer()
				s := g.importRows("?on_conflict="+mode, &endlessRows{left: b.N})
				b.StopTimer()
				if !s.Complete || s.Written != int64(b.N) {
					b.Errorf("got %+v", s)
				}
				g.reportStream(b)
			})
		}
	}
	for _, mediaType := range []string{"application/x-ndjson", "text/csv"} {
		for _, road := range roads {
			b.Run("export/"+mediaType+"/"+road, func(b *testing.B) {
				loader := serve(b, dsns).on("ndb")
				loader.importRows("?on_conflict=replace", &endlessRows{left: b.N})
				b.Cleanup(func() { loader.deleteStreamed(b, b.N) })
				g := serve(b, dsns).on(road)
				b.ResetTimer()
				resp, err := g.stream("GET", "/v1/employees:export?"+ours, nil, "Accept: "+mediaType, "Accept-Encoding: identity")
				if err != nil {
					b.Fatal(err)
				}
				bytes, err := io.Copy(io.Discard, resp.Body)
				b.StopTimer()
				if got := resp.Trailer.Get("X-Export-Rows"); err != nil || got != fmt.Sprint(b.N) {
					b.Errorf("got %s rows in %d bytes, %v", got, bytes, err)
				}
				_ = resp.Body.Close() // it was read to its end
				g.reportStream(b)
			})
		}
	}
}

// endlessRows are rows that are made while they are read.
type endlessRows struct {
	i, left int
	text    []byte
}

func (r *endlessRows) Read(p []byte) (int, error) {
	for len(r.text) < len(p) && r.left > 0 {
		r.text = append(r.text, streamRow(r.i)...)
		r.i++
		r.left--
	}
	if len(r.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text)
	r.text = append(r.text[:0], r.text[n:]...)
	return n, nil
}

func (g *gateway) reportStream(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(0, "ns/op")
	if mb, ok := peakMemory(g.cmd.Process.Pid); ok {
		b.ReportMetric(mb, "MB-RSS")
	}
}

// peakMemory is the most memory that a process had, in MB, where the system
// tells it.
func peakMemory(pid int) (mb float64, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(status) {
		var kB float64
		if _, err := fmt.Sscanf(string(line), "VmHWM: %f kB", &kB); err == nil {
			return kB / 1000, true
		}
	}
	return 0, false
}

// deleteStreamed deletes the first n rows of streamRow.
func (g *gateway) deleteStreamed(b *testing.B, n int) {
	b.Helper()
	const most = 20_000
	for first := 0; first < n; first += most {
		var ids strings.Builder
		for i := first; i < min(first+most, n); i++ {
			fmt.Fprintf(&ids, ",%d", firstID+i)
		}
		body := `{"partial":true,"ids":[` + ids.String()[1:] + `]}`
		if a := g.on("ndb").do("POST", "/v1/employees:batchDelete", body); a.status/100 != 2 {
			b.Fatalf("delete: got %d %.300s", a.status, a.body)
		}
	}
}
