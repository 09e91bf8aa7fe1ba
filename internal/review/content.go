package review

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// headCommit is the approved commit. GitHub finds its author and committer by email addresses,
// which the committer chooses. So these fields can only remove an approval, and never add one.
type headCommit struct {
	SHA    string `json:"sha"`
	Commit struct {
		Tree struct {
			SHA string `json:"sha"`
		} `json:"tree"`
	} `json:"commit"`
	Author    *user `json:"author"`
	Committer *user `json:"committer"`
}

// head returns the last commit of a pull request.
func (r *Reviewer) head(ctx context.Context, m *merged) (*headCommit, error) {
	var head headCommit
	_, err := r.api.Get(ctx, r.api.Path("/commits/%s", m.Head.SHA), onePerPage, &head)
	if err == nil && (head.SHA != m.Head.SHA || !hashForm.MatchString(head.Commit.Tree.SHA)) {
		err = fmt.Errorf("the answer is about commit %q", head.SHA)
	}
	if err != nil {
		return nil, unanswered("read commit "+m.Head.SHA+", which was approved", err)
	}
	return &head, nil
}

// onePerPage keeps the answer short, because the files of the commit are not needed.
var onePerPage = map[string][]string{"per_page": {"1"}}

// treeEntry is one entry of a folder.
type treeEntry struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Type string `json:"type"`
	SHA  string `json:"sha"`
}

// maxFolders is the maximum number of folders read from the approved commit.
const maxFolders = 200

var errFolders = fmt.Errorf("the approved files are in more than %d folders", maxFolders)

// changed returns the first file with another content in the approved commit than here, or "". A
// manual merge can add unreviewed content, and so can two pull requests that change one file.
func (r *Reviewer) changed(ctx context.Context, head *headCommit, files []File) (string, error) {
	folders := map[string][]treeEntry{}
	for _, f := range files {
		at, err := r.folder(ctx, head.Commit.Tree.SHA, path.Dir(f.Path), folders)
		if errors.Is(err, errFolders) { // which stays so: other files must not wait for these
			return "", refuse(files, ReasonNotApproved, err.Error(), "request them in several pull requests")
		}
		if err != nil {
			return "", err
		}
		same := false
		for _, e := range at {
			same = same || e.Path == path.Base(f.Path) && e.Mode == "100644" && e.SHA == f.Blob
		}
		if !same {
			return f.Path, nil
		}
	}
	return "", nil
}

// folder returns the entries of a folder, or none if it did not exist.
func (r *Reviewer) folder(ctx context.Context, root, dir string, known map[string][]treeEntry) ([]treeEntry, error) {
	if entries, again := known[dir]; again {
		return entries, nil
	}
	hash := root
	if dir != "." {
		above, err := r.folder(ctx, root, path.Dir(dir), known)
		if err != nil {
			return nil, err
		}
		hash = ""
		for _, e := range above {
			if e.Path == path.Base(dir) && e.Type == "tree" {
				hash = e.SHA
			}
		}
		if hash == "" {
			known[dir] = nil
			return nil, nil
		}
	}
	if len(known) >= maxFolders || strings.Count(dir, "/") >= maxFolders {
		return nil, errFolders
	}
	what := fmt.Sprintf("read folder %q as it was when approved", dir)
	if !hashForm.MatchString(hash) {
		return nil, &UnknownError{What: fmt.Sprintf("%s: %q is not a hash", what, hash)}
	}
	var answer struct {
		Tree      []treeEntry `json:"tree"`
		Truncated bool        `json:"truncated"`
	}
	_, err := r.api.Get(ctx, r.api.Path("/git/trees/%s", hash), nil, &answer)
	if err == nil && answer.Truncated {
		err = fmt.Errorf("the answer is incomplete")
	}
	if err != nil {
		return nil, unanswered(what, err)
	}
	known[dir] = answer.Tree
	return answer.Tree, nil
}
