package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string
	data []byte
	mode os.FileMode
}

// tree returns the files below a folder, in order. Their names begin with another folder.
func tree(dir, below string) (files []entry) {
	check(fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, entry{path.Join(below, name), read(filepath.Join(dir, name)), 0o644})
		}
		return err
	}))
	return files
}

// tarball archives files in the given order, with nothing about the user, machine and time of the build.
func tarball(files []entry, when time.Time) []byte {
	var b bytes.Buffer
	compressed := orExit(gzip.NewWriterLevel(&b, gzip.BestCompression))
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		check(archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode),
			Size: int64(len(f.data)), ModTime: when, Format: tar.FormatUSTAR}))
		orExit(archive.Write(f.data))
	}
	check(archive.Close())
	check(compressed.Close())
	return b.Bytes()
}

// zipped is [tarball] for Windows.
func zipped(files []entry, when time.Time) []byte {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: when.UTC()}
		header.SetMode(f.mode)
		orExit(orExit(archive.CreateHeader(header)).Write(f.data))
	}
	check(archive.Close())
	return b.Bytes()
}
