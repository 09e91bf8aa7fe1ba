package gitchange

import (
	"fmt"
	"maps"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// Origin is the commit that gave a file its present content: of the first
// parents of a commit, as merges make them, the last that changed the file.
type Origin struct {
	Commit      plumbing.Hash
	Author      string // "Name <address>", untrusted
	CommittedAt time.Time
	Message     string // untrusted
}

// Origins returns where files of a commit come from. A file is missing in the
// answer when history does not go back far enough, as that of a shallow clone.
// It is one walk for all of them, and ends with the last that is found.
func (c *Clone) Origins(commit plumbing.Hash, paths []string) (map[string]Origin, error) {
	origins := map[string]Origin{}
	waiting := map[string]version{}
	at, err := c.commit(commit)
	if err != nil {
		return nil, err
	}
	have, err := c.versions(commit, paths)
	if err != nil {
		return nil, err
	}
	maps.Copy(waiting, have)
	for range MaxHistory {
		if len(waiting) == 0 {
			return origins, nil
		}
		parents, err := c.parents(at)
		if err != nil {
			return nil, err
		}
		if len(parents) == 0 && len(at.ParentHashes) > 0 {
			return origins, nil // a shallow clone begins here
		}
		var before map[string]version
		parent := at
		if len(parents) > 0 {
			if parent, err = c.commit(parents[0]); err != nil {
				return nil, err
			}
			if parent.TreeHash == at.TreeHash {
				at = parent
				continue
			}
			names := make([]string, 0, len(waiting))
			for name := range waiting {
				names = append(names, name)
			}
			if before, err = c.versions(parent.Hash, names); err != nil {
				return nil, err
			}
		}
		for name, v := range waiting {
			if before[name] != v {
				origins[name] = Origin{Commit: at.Hash, Author: fmt.Sprintf("%s <%s>", at.Author.Name, at.Author.Email),
					CommittedAt: at.Committer.When, Message: at.Message}
				delete(waiting, name)
			}
		}
		if len(parents) == 0 {
			return origins, nil
		}
		at = parent
	}
	return nil, ErrHistory
}

// versions returns what a commit has at paths.
func (c *Clone) versions(commit plumbing.Hash, paths []string) (map[string]version, error) {
	tree, err := c.Tree(commit)
	if err != nil {
		return nil, err
	}
	found := make(map[string]version, len(paths))
	for _, name := range paths {
		v, err := versionIn(tree, name)
		if err != nil {
			return nil, err
		}
		found[name] = v
	}
	return found, nil
}
