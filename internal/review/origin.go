package review

import (
	"errors"
	"fmt"
	"io/fs"
)

// Origin is a commit of the branch, with the files that it gave the content in
// which they are to be signed.
type Origin struct {
	Commit string // hash, in lower case
	Files  []File
}

// File is one of them.
type File struct {
	Path string // from the repository's root, with slashes
	Blob string // hash of its content, in lower case
}

// Commit is a commit as Git has it.
type Commit struct {
	Message     string
	AuthorEmail string
	Parents     []string // hashes, the first parent first
}

// History is the repository that is signed in.
type History interface {
	// Commit returns a commit. One that the repository lacks is an error.
	Commit(hash string) (Commit, error)
	// ReadFile returns a regular file of a commit. None is an error that is
	// [fs.ErrNotExist].
	ReadFile(commit, path string) ([]byte, error)
}

// missing explains an error of a [History].
func missing(what string, err error) error {
	return &UnknownError{What: what, Err: err, Advice: "does the clone have its history? In GitHub Actions, check it out with fetch-depth: 0"}
}

// errNoFile tells a file that is not there from a repository that cannot be read.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// ancestors returns up to most ancestors of a commit by first parents, the
// nearest first.
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
