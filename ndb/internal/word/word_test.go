package word

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func TestAppend_LittleEndian(t *testing.T) {
	got := Append([]byte{9}, 1, 0xfffefdfc)
	if want := []byte{9, 1, 0, 0, 0, 0xfc, 0xfd, 0xfe, 0xff}; !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestAppendPadded(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"a", "a\x00\x00\x00"},
		{"abc", "abc\x00"},
		{"abcd", "abcd"},
		{"abcde", "abcde\x00\x00\x00"},
	} {
		if got := string(AppendPadded(nil, []byte(tt.in))); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
		if got := PaddedBytes(len(tt.in)); got != len(tt.want) {
			t.Errorf("%q: got %d bytes, want %d", tt.in, got, len(tt.want))
		}
	}
}

func TestAtAndPut(t *testing.T) {
	b := Append(nil, 1, 2, 3)
	Put(b, 1, 0x01020304)
	for i, want := range []uint32{1, 0x01020304, 3} {
		if got := At(b, i); got != want {
			t.Errorf("word %d: got %#x, want %#x", i, got, want)
		}
	}
}

func TestReader_ReadsInOrder(t *testing.T) {
	src := Append(nil, 1, 2, 3)
	src = AppendPadded(src, []byte("abcde"))
	src = Append(src, 4, 5)
	r := NewReader(src)
	if got := r.Uint32(); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
	if got, want := r.Uint64(), uint64(3)<<32|2; got != want {
		t.Errorf("got %#x, want %#x", got, want)
	}
	if got := string(r.Bytes(5)); got != "abcde" {
		t.Errorf("got %q, want abcde", got)
	}
	if got := r.Len(); got != 2 {
		t.Errorf("got %d words left, want 2", got)
	}
	if err := r.Done(); !errors.Is(err, ErrTrailing) {
		t.Errorf("got %v, want ErrTrailing", err)
	}
	if got, want := r.Rest(), src[len(src)-8:]; !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	if err := r.Done(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestReader_StaysShort(t *testing.T) {
	src := Append(nil, 1, 2)
	for name, read := range map[string]func(r *Reader){
		"word":               func(r *Reader) { r.Bytes(8); r.Uint32() },
		"half a word":        func(r *Reader) { *r = NewReader(src[:3]); r.Uint32() },
		"two words":          func(r *Reader) { r.Uint32(); r.Uint64() },
		"bytes":              func(r *Reader) { r.Bytes(9) },
		"padding":            func(r *Reader) { *r = NewReader(src[:7]); r.Bytes(7) },
		"negative count":     func(r *Reader) { r.Bytes(-1) },
		"most negative":      func(r *Reader) { r.Bytes(math.MinInt) },
		"count that is huge": func(r *Reader) { r.Bytes(math.MaxInt) },
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(src)
			read(&r)
			if got := r.Uint32(); got != 0 {
				t.Errorf("got %d, want 0", got)
			}
			if got := r.Bytes(0); len(got) != 0 {
				t.Errorf("got %x, want nothing", got)
			}
			r.Skip()
			if !errors.Is(r.Err(), ErrShort) || !errors.Is(r.Done(), ErrShort) {
				t.Errorf("got %v, %v, want ErrShort", r.Err(), r.Done())
			}
		})
	}
}

func TestReader_SkipLeavesNothing(t *testing.T) {
	r := NewReader(Append(nil, 1, 2))
	r.Uint32()
	r.Skip()
	if err := r.Done(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

// What is appended to a result must not run into what follows in the source.
func TestReader_BytesHaveNoRoomToGrow(t *testing.T) {
	src := Append(nil, 1, 2)
	r := NewReader(src)
	_ = append(r.Bytes(4), 9, 9, 9, 9)
	if got := r.Uint32(); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(Append(nil, 1, 2, 3), 5)
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		r := NewReader(src)
		first := r.Uint32()
		b := r.Bytes(n)
		if r.Err() != nil {
			return
		}
		again := append(AppendPadded(Append(nil, first), b), r.Rest()...)
		// The padding need not be zeros.
		if got, want := len(again), len(src); got != want {
			t.Errorf("got %d bytes, want %d", got, want)
		}
	})
}
