package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string // in the archive
	path string // on disk
	mode os.FileMode
}

// pack archives files in the given order. The archive contains nothing about the user, machine and
// time of the build.
func pack(files []entry, when time.Time, p platform) ([]byte, error) {
	var b bytes.Buffer
	write := tarball
	if p.os == "windows" {
		write = zipped
	}
	if err := write(&b, files, when.UTC()); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return b.Bytes(), nil
}

func tarball(w io.Writer, files []entry, when time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		text, err := os.ReadFile(file.path)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: file.name, Mode: int64(file.mode), Size: int64(len(text)), ModTime: when, Format: tar.FormatUSTAR,
		}); err != nil {
			return fmt.Errorf("%s: %w", file.path, err)
		}
		if _, err := archive.Write(text); err != nil {
			return fmt.Errorf("%s: %w", file.path, err)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func zipped(w io.Writer, files []entry, when time.Time) error {
	archive := zip.NewWriter(w)
	for _, file := range files {
		text, err := os.ReadFile(file.path)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: file.name, Method: zip.Deflate, Modified: when}
		header.SetMode(file.mode)
		f, err := archive.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("%s: %w", file.path, err)
		}
		if _, err := f.Write(text); err != nil {
			return fmt.Errorf("%s: %w", file.path, err)
		}
	}
	return archive.Close()
}
