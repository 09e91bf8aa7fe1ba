package git

import (
	"fmt"
	"io/fs"
	"strings"
)

// reference is one reference of the repository.
type reference struct {
	hash   Hash
	target string // of a symbolic reference, or ""
}

// references returns those of the full names that exist. Git leaves out a reference that it cannot
// read with a message, which is an error here.
func (r *Repository) references(names ...string) (map[string]reference, error) {
	found := map[string]reference{}
	out, err := r.run(Call{Refuse: "ignoring broken ref"},
		append([]string{"for-each-ref", "--format=%(objectname) %(refname) %(symref)", "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		hash, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, target, ok := strings.Cut(rest, " ")
		if !ok || !IsHash(hash) {
			return nil, fmt.Errorf("git for-each-ref answered %q", line)
		}
		found[name] = reference{NewHash(hash), target}
	}
	return found, nil
}

// Reference returns the object of a full reference (refs/heads/main). A missing reference is
// [fs.ErrNotExist].
func (r *Repository) Reference(name ReferenceName) (Hash, error) {
	found, err := r.references(string(name))
	if err != nil {
		return ZeroHash, fmt.Errorf("read %s: %w", name, err)
	}
	at, exists := found[string(name)]
	if !exists {
		return ZeroHash, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	}
	return at.hash, nil
}

// Branch returns the full reference that HEAD leads to (refs/heads/main), even without a commit. It
// returns "" if HEAD is detached.
func (r *Repository) Branch() (string, error) {
	out, err := r.run(Call{}, "symbolic-ref", "--quiet", "HEAD")
	if ExitCode(err) == 1 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the branch of HEAD: %w", err)
	}
	return strings.TrimSuffix(out, "\n"), nil
}

// head returns the branch of HEAD, or HEAD if it is detached, with its object.
func (r *Repository) head() (string, reference, error) {
	branch, err := r.Branch()
	if err != nil {
		return "", reference{}, err
	}
	if branch == "" {
		out, err := r.run(Call{}, "rev-parse", "--verify", "HEAD")
		return "HEAD", reference{hash: NewHash(strings.TrimSpace(out))}, err
	}
	found, err := r.references(branch)
	if _, exists := found[branch]; err == nil && !exists {
		err = unknown("HEAD")
	}
	return branch, found[branch], err
}

// Head is the position of a work tree in history.
type Head struct {
	// Branch is the full reference of the work tree's branch, or HEAD if there is none.
	Branch ReferenceName
	Commit Hash
}

// Head returns the position of the work tree.
func (r *Repository) Head() (Head, error) {
	branch, at, err := r.head()
	if err != nil {
		return Head{}, err
	}
	if at.target != "" {
		return Head{}, fmt.Errorf("%s points to %s, which is not supported", branch, at.target)
	}
	return Head{Branch: ReferenceName(branch), Commit: at.hash}, nil
}

// plainReference reports whether Git allows this reference name (git-check-ref-format). Such a name
// is neither an expression nor a pattern.
func plainReference(name string) bool {
	if name == "@" || len(name) > maxReference || strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.HasSuffix(name, ".") {
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
