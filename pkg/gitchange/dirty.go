package gitchange

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5"
)

// Dirty returns the files below the folders that differ from HEAD, in work tree
// or index, but for what Git ignores, and those that are staged anywhere.
func (c *Clone) Dirty(folders ...string) ([]string, error) {
	worktree, err := c.repository.Worktree()
	if err != nil {
		return nil, fmt.Errorf("open work tree: %w", err)
	}
	status, err := worktree.Status()
	if err != nil {
		return nil, fmt.Errorf("read status of work tree: %w", err)
	}
	var dirty []string
	for name, s := range status {
		inside := slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
		staged := s.Staging != git.Unmodified && s.Staging != git.Untracked
		if staged || inside && (s.Staging != git.Unmodified || s.Worktree != git.Unmodified) {
			dirty = append(dirty, name)
		}
	}
	slices.Sort(dirty)
	return dirty, nil
}
