package rowformat_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/ndbgate/ndbgate/api/rowformat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var encodings = []string{rowformat.Identity, rowformat.Gzip, rowformat.Zstd}

func compressed(t testing.TB, encoding string, r io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := rowformat.NewWriter(encoding, &b)
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decompressed(encoding string, r io.Reader) ([]byte, error) {
	z, err := rowformat.NewReader(encoding, r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	return text, errors.Join(err, z.Close())
}

func TestEncodings_GiveBackWhatWentIn(t *testing.T) {
	var rows strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&rows, "{\"id\":%d}\n", i*i)
	}
	for _, encoding := range encodings {
		for _, text := range []string{"", "a", rows.String()} {
			packed := compressed(t, encoding, strings.NewReader(text))
			if len(text) > 1000 && encoding != rowformat.Identity && len(packed) > len(text)/2 {
				t.Errorf("%s: got %d bytes of %d", encoding, len(packed), len(text))
			}
			got, err := decompressed(encoding, iotest.HalfReader(bytes.NewReader(packed)))
			if err != nil || string(got) != text {
				t.Errorf("%s: got %d bytes, %v; want %d", encoding, len(got), err, len(text))
			}
		}
	}
}

func TestWriter_Flush_ShowsWhatWasWritten(t *testing.T) {
	for _, encoding := range encodings {
		from, to := io.Pipe()
		w := rowformat.NewWriter(encoding, to)
		written := make(chan error, 1)
		go func() { // ends when all of it was read
			_, err := w.Write([]byte("row\n"))
			written <- errors.Join(err, w.Flush())
		}()
		z, err := rowformat.NewReader(encoding, from)
		if err != nil {
			t.Fatalf("%s: %v", encoding, err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(z, got); err != nil || string(got) != "row\n" {
			t.Errorf("%s: got %q, %v", encoding, got, err)
		}
		if err := <-written; err != nil {
			t.Errorf("%s: %v", encoding, err)
		}
		go func() { _, _ = io.Copy(io.Discard, from) }() // ends with the pipe
		if err := errors.Join(w.Close(), to.Close(), z.Close()); err != nil {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

func TestReader_OfDamagedData(t *testing.T) {
	text := strings.Repeat("a row of text\n", 1000)
	for _, encoding := range []string{rowformat.Gzip, rowformat.Zstd} {
		packed := compressed(t, encoding, strings.NewReader(text))
		turned := bytes.Clone(packed)
		turned[len(turned)-6] ^= 1 // in the checksum
		for name, data := range map[string][]byte{
			"cut off":                packed[:len(packed)/2],
			"cut off at the end":     packed[:len(packed)-1],
			"cut off at the head":    packed[:2],
			"no such thing":          []byte(text),
			"something else behind":  append(bytes.Clone(packed), text...),
			"other than was written": turned,
		} {
			if _, err := decompressed(encoding, bytes.NewReader(data)); !errors.Is(err, rowformat.ErrCompression) {
				t.Errorf("%s: %s: got %v, want %v", encoding, name, err, rowformat.ErrCompression)
			}
		}
	}
	if _, err := decompressed(rowformat.Gzip, strings.NewReader("")); !errors.Is(err, rowformat.ErrCompression) {
		t.Errorf("nothing: got %v, want %v", err, rowformat.ErrCompression)
	}
}

func TestReader_OfAStreamThatBreaks_SaysWhy(t *testing.T) {
	why := errors.New("broken")
	for _, encoding := range encodings {
		packed := compressed(t, encoding, strings.NewReader(strings.Repeat("a row of text\n", 1000)))
		for _, n := range []int{0, 1, len(packed) / 2} {
			r := io.MultiReader(bytes.NewReader(packed[:n]), iotest.ErrReader(why))
			if _, err := decompressed(encoding, r); !errors.Is(err, why) || errors.Is(err, rowformat.ErrCompression) {
				t.Errorf("%s after %d bytes: got %v, want %v", encoding, n, err, why)
			}
		}
	}
}

func TestReader_EndsABomb(t *testing.T) {
	zeros := io.LimitReader(zeroReader{}, 256<<20)
	for _, encoding := range []string{rowformat.Gzip, rowformat.Zstd} {
		packed := compressed(t, encoding, zeros)
		z, err := rowformat.NewReader(encoding, bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, z)
		if encoding == rowformat.Zstd && (!errors.Is(err, rowformat.ErrExpansion) || n > 64<<20) {
			t.Errorf("%s: got %v after %d bytes of %d packed", encoding, err, n, len(packed))
		}
		if err := z.Close(); err != nil {
			t.Error(err)
		}
		zeros = io.LimitReader(zeroReader{}, 256<<20)
	}
}

func TestReader_RefusesAWindowThatTakesMuchMemory(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(64<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.LimitReader(zeroReader{}, 100<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := rowformat.NewReader(rowformat.Zstd, &b)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if n, err := io.Copy(io.Discard, z); !errors.Is(err, rowformat.ErrCompression) || n > 0 {
		t.Errorf("got %v after %d bytes, want %v", err, n, rowformat.ErrCompression)
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestChooseEncoding(t *testing.T) {
	for accept, want := range map[string]string{
		"": "identity", "gzip": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "gzip, deflate, br, zstd": "zstd",
		"GZIP": "gzip", "gzip;q=0": "identity", "gzip;q=0.5, zstd;q=0.4": "gzip", "br": "identity", "*": "zstd",
		"*;q=0": "identity", "zstd;q=0, *": "gzip", "identity": "identity", "identity, gzip;q=0.5": "identity",
		"gzip;q=x": "identity", "gzip;q=2": "identity", "gzip;q=0.001": "gzip", ",,": "identity", "gzip ; q=1": "gzip",
	} {
		if got := rowformat.ChooseEncoding([]string{accept}); got != want {
			t.Errorf("%q: got %s, want %s", accept, got, want)
		}
	}
	if got := rowformat.ChooseEncoding(nil); got != "identity" {
		t.Errorf("no header: got %s", got)
	}
}

func TestChooseType(t *testing.T) {
	const lines, table = "application/x-ndjson", "text/csv"
	for accept, want := range map[string]string{
		"": lines, "*/*": lines, "text/csv": table, "text/*": table, "application/*": lines, "application/json": "",
		"text/csv, */*;q=0.1": table, "text/csv;q=0, */*": lines, "application/x-ndjson;q=0.5, text/csv;q=0.6": table,
		"text/html,*/*;q=0.8": lines, "TEXT/CSV; charset=utf-8": table, "text/csv;header=present;q=0": "",
	} {
		got, ok := rowformat.ChooseType([]string{accept}, lines, table)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %s, want %s", accept, got, want)
		}
	}
}
