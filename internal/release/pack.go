package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string // in the archive
	path string // on disk
	mode int64
}

// pack archives files in the given order. The archive contains nothing about the user, machine and
// time of the build.
func pack(files []entry, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		text, err := os.ReadFile(file.path)
		if err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		if err := archive.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: file.name, Mode: file.mode, Size: int64(len(text)), ModTime: when, Format: tar.FormatUSTAR,
		}); err != nil {
			return nil, fmt.Errorf("archive %s: %w", file.path, err)
		}
		if _, err := archive.Write(text); err != nil {
			return nil, fmt.Errorf("archive %s: %w", file.path, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if err := compressed.Close(); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return b.Bytes(), nil
}
