package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
)

// fetched is a trusted root with its origin and the time of the fetch.
type fetched struct {
	json   []byte
	source string
	at     time.Time
}

// line is one line to replace in a file. begins matches the old line.
type line struct {
	begins *regexp.Regexp
	text   string
}

// update rewrites the three files of the trusted root in dir, unless it is unchanged. It reports
// whether it wrote.
func update(dir string, f fetched) (changed bool, err error) {
	if err := complete(f.json); err != nil {
		return false, err
	}
	jsonPath, docPath, goPath := filepath.Join(dir, "trusted_root.json"), filepath.Join(dir, "SOURCE.md"), filepath.Join(dir, "publicgood.go")
	old, err := os.ReadFile(jsonPath)
	if err != nil {
		return false, fmt.Errorf("read what to replace (run this from the repository's root): %w", err)
	}
	if bytes.Equal(old, f.json) {
		return false, nil
	}

	sum := sha256.Sum256(f.json)
	date := f.at.UTC().Format(time.DateOnly)
	doc, err := rewrite(docPath,
		line{regexp.MustCompile(`(?m)^- from: .*$`), "- from: " + f.source},
		line{regexp.MustCompile(`(?m)^- sha256: .*$`), "- sha256: " + hex.EncodeToString(sum[:])},
		line{regexp.MustCompile(`(?m)^- date: .*$`), "- date: " + date})
	if err != nil {
		return false, err
	}
	code, err := rewrite(goPath,
		line{regexp.MustCompile(`(?m)^const Source = .*$`), "const Source = " + strconv.Quote(f.source)},
		line{regexp.MustCompile(`(?m)^const Date = .*$`), "const Date = " + strconv.Quote(date)})
	if err != nil {
		return false, err
	}
	// After a crash between two writes the files disagree, and a test of publicgood fails. No file
	// is ever incomplete.
	for _, w := range []struct {
		path string
		data []byte
	}{{jsonPath, f.json}, {docPath, doc}, {goPath, code}} {
		if err := replace(w.path, w.data); err != nil {
			return true, err
		}
	}
	return true, nil
}

// complete rejects a trusted root that cannot verify a keyless signature.
func complete(data []byte) error {
	tr, err := root.NewTrustedRootFromJSON(data)
	if err != nil {
		return fmt.Errorf("parse the fetched trusted root: %w", err)
	}
	if len(tr.RekorLogs()) == 0 || len(tr.CTLogs()) == 0 || len(tr.FulcioCertificateAuthorities()) == 0 {
		return errors.New("the fetched trusted root lacks a log, a certificate transparency log or a certificate authority")
	}
	return nil
}

// rewrite returns the file's content with each line replaced. Each line must exist exactly once.
func rewrite(path string, lines ...line) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read what to rewrite: %w", err)
	}
	for _, l := range lines {
		if n := len(l.begins.FindAllIndex(data, -1)); n != 1 {
			return nil, fmt.Errorf("rewrite %s: %d lines match %q, want one", path, n, l.begins)
		}
		data = l.begins.ReplaceAllLiteral(data, []byte(l.text))
	}
	return data, nil
}

// replace writes a file through a temporary file in the same folder.
func replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name()) // once renamed, there is nothing left to remove
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
