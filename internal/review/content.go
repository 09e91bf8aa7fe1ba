package review

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/polex-dev/polex/internal/forge"
)

// maxFolders is the maximum number of folders read from the approved commit.
const maxFolders = 200

var errFolders = fmt.Errorf("the approved files are in more than %d folders", maxFolders)

// changed returns the first file with another content in the tree of the approved commit than here, or "". A
// manual merge can add unreviewed content, and so can two pull requests that change one file.
func (r *Reviewer) changed(ctx context.Context, root string, files []File) (string, error) {
	folders := map[string][]forge.Entry{}
	for _, f := range files {
		at, err := r.folder(ctx, root, path.Dir(f.Path), folders)
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
func (r *Reviewer) folder(ctx context.Context, root, dir string,
	known map[string][]forge.Entry) ([]forge.Entry, error) {
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
	entries, err := r.config.Reviews.Folder(ctx, hash)
	if err != nil {
		return nil, unanswered(fmt.Sprintf("read folder %q as it was when approved", dir), err)
	}
	known[dir] = entries
	return entries, nil
}
