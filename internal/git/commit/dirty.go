package commit

import (
	"fmt"
	"slices"
	"strings"
)

// Dirty returns the files below the folders that differ from HEAD in work tree or index, except
// ignored files, and the staged files of all folders. It uses Git, because only Git knows the
// ignore rules and conversions of the user and the clone.
func (c *Clone) Dirty(folders ...string) ([]string, error) {
	staged, err := c.names("diff-index", "--cached", "--name-only", "--no-renames", "--ignore-submodules=none", "-z", "HEAD", "--")
	if err != nil {
		return nil, err
	}
	status, err := c.names(append([]string{"status", "--porcelain=v1", "--no-renames", "--untracked-files=all", "--ignore-submodules=none", "-z", "--"}, folders...)...)
	if err != nil {
		return nil, err
	}
	for _, line := range status {
		staged = append(staged, line[min(len(line), len("XY ")):])
	}
	if err := c.hidden(folders); err != nil {
		return nil, err
	}
	slices.Sort(staged)
	return slices.Compact(staged), nil
}

// hidden rejects changed files that Git is configured to skip.
func (c *Clone) hidden(folders []string) error {
	head, err := c.Head()
	if err != nil {
		return err
	}
	tree, err := c.Tree(head.Commit)
	if err != nil {
		return err
	}
	files, err := c.names(append([]string{"ls-files", "-v", "-z", "--"}, folders...)...)
	if err != nil {
		return err
	}
	for _, line := range files {
		tag, name, _ := strings.Cut(line, " ")
		if tag != "S" && tag == strings.ToUpper(tag) {
			continue
		}
		committed, err := tree.At(name)
		if err != nil {
			return err
		}
		if _, err := c.onDisk(name, committed); err != nil {
			return fmt.Errorf("%w: %q is marked assume-unchanged or skip-worktree, and git status does not show that it differs from the commit: "+
				"git update-index --no-assume-unchanged --no-skip-worktree", ErrSetting, name)
		}
	}
	return nil
}

// names runs a read-only Git command and returns the names in its output.
func (c *Clone) names(args ...string) ([]string, error) {
	out, err := c.ask(call{}, args...)
	if err != nil {
		return nil, fmt.Errorf("read status of work tree: %w", err)
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), nil
}
