package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// packed is a file of an archive.
type packed struct {
	Name string
	Mode os.FileMode
	Text string
	When time.Time
}

// TestPack: an archive contains the files and their executable bits, and nothing about the user and
// the time of the build.
func TestPack(t *testing.T) {
	when := time.Unix(1700000000, 0)
	for system, of := range map[string]struct {
		pack   func([]entry, time.Time) []byte
		unpack func(*testing.T, []byte) []packed
	}{"linux": {tarball, untar}, "windows": {zipped, unzip}} {
		t.Run(system, func(t *testing.T) {
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
				archives = append(archives, of.pack(append(tree(".", "top"), entry{"polex-a", read(command), 0o755}), when))
			}
			if !bytes.Equal(archives[0], archives[1]) {
				t.Error("the same files make two archives")
			}
			want := []packed{{"top/LICENSE", 0o644, "LICENSE", when.UTC()},
				{"top/dist/polex-a", 0o644, filepath.Join("dist", "polex-a"), when.UTC()}, {"polex-a", 0o755, filepath.Join("dist", "polex-a"), when.UTC()}}
			if diff := cmp.Diff(want, of.unpack(t, archives[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// untar reads a tar.gz. It fails if the archive names a user.
func untar(t *testing.T, archive []byte) (files []packed) {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("it names a user: %+v", h)
		}
		files = append(files, packed{h.Name, h.FileInfo().Mode(), string(text), h.ModTime.UTC()})
	}
}

func unzip(t *testing.T, archive []byte) (files []packed) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, packed{f.Name, f.Mode(), string(text), f.Modified.UTC()})
	}
	return files
}
