package git_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
)

// answers returns fixed answers of git cat-file to any request.
type answers struct{ *strings.Reader }

func (answers) Write(p []byte) (int, error) { return len(p), nil }

// TestBatchThatLies: an answer of git cat-file is compared with the request.
func TestBatchThatLies(t *testing.T) {
	hash := plumbing.ComputeHash(blob, small).String()
	huge := hash + " blob 33554433\n" + strings.Repeat("x", 33554433) + "\n"
	for name, tc := range map[string]struct{ said, want string }{
		"honest":             {hash + " blob 5\na: 1\n\n", ""},
		"other content":      {hash + " blob 5\na: 2\n\n", "the content does not match the hash"},
		"another kind":       {hash + " tree 5\na: 1\n\n", "the content does not match the hash"},
		"another object":     {strings.Repeat("0", 40) + " blob 5\na: 1\n\n", "answered"},
		"an unknown kind":    {hash + " secret 5\na: 1\n\n", "answered"},
		"no size":            {hash + " blob\na: 1\n\n", "answered"},
		"claims less":        {hash + " blob -1\n", "answered"},
		"claims too much":    {hash + " blob 9223372036854775806\n", "unexpected EOF"},
		"cut off":            {hash + " blob 5\na: 1\n", "unexpected EOF"},
		"silent":             {"", "unexpected EOF"},
		"without a line end": {strings.Repeat("x", 1<<20), "buffer full"},
		"missing":            {hash + " missing\n", "does not have it"},
		"too large":          {huge, "too large: 33554433 bytes"},
	} {
		f := newForge(t)
		r, err := git.OpenFolders(git.Folders{Own: f.dir, Common: f.dir, Objects: answers{strings.NewReader(tc.said)}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Blob(plumbing.NewHash(hash))
		if tc.want == "" && (err != nil || !bytes.Equal(got, small)) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %q, %v, want an error with %q", name, got, err, tc.want)
		}
		if strings.Contains(tc.want, "too large") && !errors.Is(err, git.ErrTooLarge) {
			t.Errorf("%s: %v is not ErrTooLarge", name, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}

	// An object above the limit is skipped, and the next answer belongs to the next request.
	f := newForge(t)
	r, err := git.OpenFolders(git.Folders{Own: f.dir, Common: f.dir, Objects: answers{strings.NewReader(huge + hash + " blob 5\na: 1\n\n")}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Blob(plumbing.NewHash(hash)); !errors.Is(err, git.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
	if got, err := r.Blob(plumbing.NewHash(hash)); err != nil || !bytes.Equal(got, small) {
		t.Errorf("the next is %q, %v", got, err)
	}
}
