package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPack: an archive contains the files and their executable bits, and nothing about the user and
// the time of the build.
func TestPack(t *testing.T) {
	when := time.Unix(1700000000, 0)
	var archives [][]byte
	for n, mode := range []os.FileMode{0o600, 0o777} {
		t.Chdir(t.TempDir())
		command := filepath.Join("dist", "polex-a")
		if err := os.Mkdir("dist", 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{command, "LICENSE"} {
			if err := os.WriteFile(file, []byte(file), mode); err != nil {
				t.Fatal(err)
			}
			other := when.Add(time.Duration(n) * time.Hour)
			if err := os.Chtimes(file, other, other); err != nil {
				t.Fatal(err)
			}
		}
		archive, err := pack([]entry{{"LICENSE", "LICENSE", 0o644}, {"polex-a", command, 0o755}}, when)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, archive)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the same files make two archives")
	}
	plain, err := gzip.NewReader(bytes.NewReader(archives[0]))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(plain)
	for _, want := range []struct {
		name string
		mode int64
		text string
	}{{"LICENSE", 0o644, "LICENSE"}, {"polex-a", 0o755, filepath.Join("dist", "polex-a")}} {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != want.name || h.Mode != want.mode || string(text) != want.text || h.Uid != 0 || h.Uname != "" || !h.ModTime.Equal(when) {
			t.Errorf("%+v, %q", h, text)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("there is more: %v", err)
	}
	if _, err := pack([]entry{{"none", "none", 0o644}}, when); err == nil {
		t.Error("a file that is not there is packed")
	}
}
