package cli_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/polex-dev/polex/cmd/internal/cli"
)

func TestStream(t *testing.T) {
	s := cli.Stream{Limit: 40}
	for _, document := range []string{"a: 1\n", "b: 2", "c: 3\n"} {
		if err := s.Add([]byte(document)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add(bytes.Repeat([]byte("x"), 40)); err == nil {
		t.Error("more was taken than there is room for")
	}
	var out strings.Builder
	if _, err := s.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	if want := "a: 1\n---\nb: 2\n---\nc: 3\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestStreamIsStrict: the zero value has room for nothing.
func TestStreamIsStrict(t *testing.T) {
	var s cli.Stream
	if s.Add([]byte("a: 1\n")) == nil {
		t.Error("a document was taken")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestStreamSaysWhenItIsNotWritten(t *testing.T) {
	s := cli.Stream{Limit: 40}
	if err := s.Add([]byte("a: 1\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteTo(broken{}); err == nil || !strings.Contains(err.Error(), "write documents: broken pipe") {
		t.Errorf("%v", err)
	}
}
