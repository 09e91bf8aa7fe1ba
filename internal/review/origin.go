package review

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Origin is a commit of the branch, with the files to sign that it last changed.
type Origin struct {
	Commit string // hash, in lower case
	Files  []File
}

// File is a file of an [Origin].
type File struct {
	Path string // relative to the repository's root, with slashes
	Blob string // hash of its content, in lower case
}

// Commit is a Git commit.
type Commit struct {
	Message     string
	AuthorEmail string
	Writers     []Signer // author and committer
	Parents     []string // hashes, the first parent first
}

// History reads the repository of the exceptions.
type History interface {
	// Commit returns a commit, or an error if the repository does not have it.
	Commit(hash string) (Commit, error)
	// ReadFile returns a regular file of a commit. The error is [fs.ErrNotExist] if there is none.
	ReadFile(commit, path string) ([]byte, error)
}

// missing explains an error of a [History].
func missing(what string, err error) error {
	return &UnknownError{What: what, Err: err,
		Advice: "does the clone have its history? In GitHub Actions, check it out with fetch-depth: 0"}
}

// isAbsent reports whether an error means a missing file and not an unreadable repository.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// ancestors returns up to most ancestors of a commit by first parents, the nearest first.
func ancestors(h History, commit string, most int) ([]string, error) {
	var found []string
	for len(found) < most {
		c, err := h.Commit(commit)
		if err != nil {
			return nil, missing(fmt.Sprintf("read commit %q", commit), err)
		}
		if len(c.Parents) == 0 {
			break
		}
		commit = c.Parents[0]
		found = append(found, commit)
	}
	return found, nil
}

// The forms of values that are used in later requests or written into a signed document. Every
// source is checked.
var (
	loginForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}(\[bot\])?$`)
	hashForm  = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
)

// checkLogin rejects a string that is not a valid GitHub login.
func checkLogin(login string) error {
	if !loginForm.MatchString(login) {
		return &UnknownError{What: fmt.Sprintf("%q is not a login", login)}
	}
	return nil
}

// sortLogins sorts logins without regard to case.
func sortLogins(logins []string) {
	slices.SortFunc(logins, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
}
