package git

import (
	"errors"
	"fmt"
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

// maxTags is the maximum number of tags in a row.
const maxTags = 5

// peel returns the commit of a hash. It follows tags.
func (r *Repository) peel(hash Hash) (Hash, error) {
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
