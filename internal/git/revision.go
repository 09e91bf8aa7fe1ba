package git

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// RevisionError means that a revision names no commit, or more than one.
type RevisionError struct {
	Revision string
	// Malformed means that the revision is invalid in every repository.
	Malformed bool

	message, hint string
}

// Error returns the quoted revision and the problem.
func (e *RevisionError) Error() string { return fmt.Sprintf("revision %q: %s", e.Revision, e.message) }

// Hint returns a correction; it may be empty.
func (e *RevisionError) Hint() string { return e.hint }

// CheckRevision returns a *[RevisionError] for a text that is invalid in every repository: an
// expression such as main~2, or a name that Git does not allow.
func CheckRevision(revision string) error {
	if plainReference(revision) {
		return nil
	}
	return &RevisionError{Revision: revision, Malformed: true, message: "this is not the name of a commit",
		hint: "write HEAD, a branch, a tag or a whole hash; git rev-parse makes a hash of an expression"}
}

var abbreviation = regexp.MustCompile(`^[0-9a-f]{4,39}$`)

// Resolve returns the commit of a revision: HEAD, a branch, a tag, a remote branch (origin/main), a
// full reference (refs/heads/main) or a whole hash. Several references of one name must lead to the
// same commit. Otherwise the error is a *[RevisionError].
func (r *Repository) Resolve(revision string) (Hash, error) {
	if err := CheckRevision(revision); err != nil {
		return ZeroHash, err
	}
	if IsHash(revision) {
		return r.peel(NewHash(revision))
	}
	if revision == "HEAD" {
		_, at, err := r.head()
		if err != nil {
			return ZeroHash, err
		}
		return r.peel(at.hash)
	}
	names := []string{"refs/tags/" + revision, "refs/heads/" + revision, "refs/remotes/" + revision}
	if strings.HasPrefix(revision, "refs/") {
		names = []string{revision}
	}
	references, err := r.references(names...)
	if err != nil {
		return ZeroHash, fmt.Errorf("revision %q: %w", revision, err)
	}
	var commit Hash
	found := ""
	for _, name := range names {
		at, exists := references[name]
		if !exists {
			continue
		}
		hash, err := r.peel(at.hash)
		if err != nil {
			return ZeroHash, fmt.Errorf("revision %q: %w", revision, err)
		}
		if found != "" && hash != commit {
			return ZeroHash, &RevisionError{Revision: revision,
				message: fmt.Sprintf("%s and %s are different commits", found, name),
				hint:    "write the full name: " + found + " or " + name}
		}
		found, commit = name, hash
	}
	if found == "" {
		return ZeroHash, unknown(revision)
	}
	return commit, nil
}

func unknown(revision string) error {
	e := &RevisionError{Revision: revision, message: "the repository does not have it",
		hint: "correct the name, or run git fetch"}
	if revision == "HEAD" {
		e.message, e.hint = "the repository has no commits yet", "make the first commit, or run git fetch"
	}
	if abbreviation.MatchString(revision) {
		e.hint = "if this is the start of a hash, write the whole hash: another object could have the same start"
	}
	return e
}

// peel returns the commit of a hash. It follows tags.
func (r *Repository) peel(hash Hash) (Hash, error) {
	const maxTags = 5 // the maximum number of tags in a row
	for range maxTags {
		kind, content, err := r.readAs(hash, maxCommit, false)
		if err != nil {
			return ZeroHash, err
		}
		switch kind {
		case KindCommit:
			return hash, nil
		case KindTag:
			if hash, err = header(content, "object "); err != nil {
				return ZeroHash, fmt.Errorf("tag: %w", err)
			}
		default:
			return ZeroHash, fmt.Errorf("%s is a %s, not a commit", hash, kind)
		}
	}
	return ZeroHash, errors.New("the tags point to each other in an endless chain")
}

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
