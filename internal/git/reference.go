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

// maxSymbolic is the maximum number of symbolic references in a row.
const maxSymbolic = 5

// reference returns the object of a reference, given as HEAD or in full (refs/heads/main). A
// missing reference is [fs.ErrNotExist].
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
	return plumbing.ZeroHash, fmt.Errorf("%s is an endless chain of references", name)
}

// Branch returns the full reference that HEAD leads to (refs/heads/main), even without a commit. It
// returns "" if HEAD is detached.
func (r *Repository) Branch() (string, error) {
	const head = "HEAD"
	content, err := r.referenceText(head)
	if err != nil {
		return "", err
	}
	return targetOf(head, content)
}

// Head is the position of a work tree in history.
type Head struct {
	// Branch is the full reference of the work tree's branch, or HEAD if there is none.
	Branch plumbing.ReferenceName
	Commit plumbing.Hash
}

// Head returns the position of the work tree.
func (r *Repository) Head() (Head, error) {
	branch, err := r.Branch()
	if err != nil {
		return Head{}, err
	}
	if branch == "" {
		branch = string(plumbing.HEAD)
	}
	content, err := r.referenceText(branch)
	if errors.Is(err, fs.ErrNotExist) {
		err = unknown(string(plumbing.HEAD))
	}
	if err != nil {
		return Head{}, err
	}
	if target, err := targetOf(branch, content); err != nil || target != "" {
		return Head{}, errors.Join(err, fmt.Errorf("%s points to %s, which is not supported", branch, target))
	}
	hash, err := hashOf(branch, content)
	return Head{Branch: plumbing.ReferenceName(branch), Commit: hash}, err
}

// Reference returns the object of a full reference (refs/heads/main). A missing reference is
// [fs.ErrNotExist].
func (r *Repository) Reference(name plumbing.ReferenceName) (plumbing.Hash, error) {
	return r.reference(string(name))
}

// targetOf returns the target of a symbolic reference with this content, or "" for a hash.
func targetOf(name, content string) (string, error) {
	target, symbolic := strings.CutPrefix(content, "ref: ")
	if symbolic && (!strings.HasPrefix(target, "refs/") || !plainReference(target)) {
		return "", fmt.Errorf("%s points to %q, which is not a reference", name, target)
	}
	if !symbolic {
		return "", nil
	}
	return target, nil
}

// referenceText returns the content of a reference's file. Without a file, it returns the hash from
// packed-refs.
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
		return plumbing.ZeroHash, errors.New(name + " does not contain a hash")
	}
}

// plainReference reports whether Git allows this reference name (git-check-ref-format). Such a name
// is neither a path to another file nor an expression.
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
