package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// pack archives files under their base names, in the given order. The archive contains nothing
// about the user, machine and time of the build.
func pack(files []string, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
		mode := int64(0o644)
		if filepath.Dir(file) != "." {
			mode = 0o755
		}
		if err := archive.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: filepath.Base(file), Mode: mode, Size: int64(len(text)), ModTime: when, Format: tar.FormatUSTAR,
		}); err != nil {
			return nil, fmt.Errorf("archive %s: %w", file, err)
		}
		if _, err := archive.Write(text); err != nil {
			return nil, fmt.Errorf("archive %s: %w", file, err)
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
