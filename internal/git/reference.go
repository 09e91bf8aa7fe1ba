package git

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

// Head is where a work tree is in history.
type Head struct {
	// Branch is the reference that the work tree is on, in full, or HEAD where it
	// is on none.
	Branch plumbing.ReferenceName
	Commit plumbing.Hash
}

// Head returns where the work tree is.
func (r *Repository) Head() (Head, error) {
	branch, err := r.Branch()
	if err != nil {
		return Head{}, err
	}
	if branch == "" {
		branch = string(plumbing.HEAD)
	}
	content, err := r.referenceText(branch)
	if err != nil {
		return Head{}, err
	}
	if target, err := targetOf(branch, content); err != nil || target != "" {
		return Head{}, errors.Join(err, fmt.Errorf("%s leads on to %s, which is not supported", branch, target))
	}
	hash, err := hashOf(branch, content)
	return Head{Branch: plumbing.ReferenceName(branch), Commit: hash}, err
}

// Reference returns the object that a reference names, given in full (refs/heads/main), or
// an error that is [fs.ErrNotExist].
func (r *Repository) Reference(name plumbing.ReferenceName) (plumbing.Hash, error) {
	return r.reference(string(name))
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
	root := r.root
	if !strings.HasPrefix(name, "refs/") || strings.HasPrefix(name, "refs/worktree/") {
		root = r.own
	}
	if info, err := root.Lstat(name); err == nil && !info.IsDir() {
		content, err := readFile(root, name, maxReference)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		return strings.TrimRight(string(content), " \t\r\n"), nil
	}
	packed, err := open(r.root, "packed-refs")
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
