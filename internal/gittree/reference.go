package gittree

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// maxSymbolic is how many references may lead to one another.
const maxSymbolic = 5

// reference returns the object that a reference names, given as HEAD or in full
// (refs/heads/main), or an error that is [fs.ErrNotExist].
func (r *Repository) reference(name string) (plumbing.Hash, error) {
	for range maxSymbolic {
		content, err := r.referenceText(name)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		target, err := targetOf(name, content)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if target == "" {
			return hashOf(name, content)
		}
		name = target
	}
	return plumbing.ZeroHash, fmt.Errorf("%s leads from one reference to another without an end", name)
}

// Branch returns the reference that HEAD leads to, in full (refs/heads/main), whether
// there is a commit yet or not. It is "" where HEAD is a commit itself.
func (r *Repository) Branch() (string, error) {
	const head = "HEAD"
	content, err := r.referenceText(head)
	if err != nil {
		return "", err
	}
	return targetOf(head, content)
}

// targetOf returns the reference that another one with this content leads to, or ""
// where it leads to none.
func targetOf(name, content string) (string, error) {
	target, symbolic := strings.CutPrefix(content, "ref: ")
	if symbolic && (!strings.HasPrefix(target, "refs/") || !plainReference(target)) {
		return "", fmt.Errorf("%s leads to %q, which is no reference", name, target)
	}
	if !symbolic {
		return "", nil
	}
	return target, nil
}

// referenceText returns what a reference's file holds, or its line of
// packed-refs, which counts where there is no file.
func (r *Repository) referenceText(name string) (string, error) {
	if info, err := r.root.Lstat(name); err == nil && !info.IsDir() {
		content, err := r.file(name, maxReference)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		return strings.TrimRight(string(content), " \t\r\n"), nil
	}
	packed, err := r.open("packed-refs")
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	defer packed.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(io.LimitReader(packed, maxPackedRefs))
	for lines.Scan() {
		if hash, found := strings.CutSuffix(lines.Text(), " "+name); found {
			return hash, nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("read packed-refs: %w", err)
	}
	return "", fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
}

func hashOf(name, text string) (plumbing.Hash, error) {
	switch {
	case plumbing.IsHash(text):
		return plumbing.NewHash(text), nil
	case len(text) == 64:
		return plumbing.ZeroHash, fmt.Errorf("%s holds a SHA-256, and only repositories with SHA-1 can be read", name)
	default:
		return plumbing.ZeroHash, errors.New(name + " holds no hash")
	}
}

// plainReference reports whether Git would make a reference of this name
// (git-check-ref-format), so that it is no path to another file and no
// expression.
func plainReference(name string) bool {
	if name == "@" || len(name) > maxReference || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
