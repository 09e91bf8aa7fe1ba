package gitchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/pkg/gittree"
)

// ErrSetting says that a clone has a setting which this package does not heed, and that
// a change of it would harm: it is refused before anything is signed or written.
var ErrSetting = errors.New("this setting of the clone is not supported")

// preflight refuses clones that a change would leave broken for Git or for others.
func (c *Clone) preflight() error {
	// What is written belongs to this process, with its umask: the others of a group
	// could neither read nor replace it.
	switch shared := c.setting("core.sharedRepository"); strings.ToLower(shared) {
	case "", "umask", "false", "no", "off", "0":
	default:
		return fmt.Errorf("%w: core.sharedRepository is %q: use a clone of your own", ErrSetting, shared)
	}
	// Objects of other repositories are not read.
	if content, err := c.common.ReadFile("objects/info/alternates"); err == nil && len(bytes.TrimSpace(content)) > 0 {
		return fmt.Errorf("%w: objects/info/alternates borrows objects of another repository (git clone --reference or --shared): run git repack -a -d and remove that file, or clone without", ErrSetting)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open repository: %w", err)
	}
	// A split index, a sparse checkout and a merge are better found before anything is
	// signed than when the index is to be replaced.
	if _, err := c.readIndex(); err != nil {
		return fmt.Errorf("open repository: %w", err)
	}
	return nil
}

// setting is one of Git's configuration as Git has it, wherever it stands: in a file of
// the system, of the user or of the clone, in one that those include, or in the
// environment. It is "" where nothing sets it, or where there is no git to ask.
func (c *Clone) setting(name string) string {
	value, err := c.git(context.Background(), "", nil, "config", "--get", name)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(value, "\n")
}

// SignsCommits reports whether Git would sign every commit (commit.gpgSign).
func (c *Clone) SignsCommits() bool {
	value, err := c.git(context.Background(), "", nil, "config", "--type=bool", "--get", "commit.gpgSign")
	return err == nil && strings.TrimSpace(value) == "true"
}

// identity is the author of a commit as Git would name it, or "" where nothing says it:
// the environment, the configuration and what it includes.
func (c *Clone) identity() (name, email string) {
	line, err := c.git(context.Background(), "", nil, "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
	if err != nil {
		return "", ""
	}
	name, rest, _ := strings.Cut(line, " <")
	email, _, _ = strings.Cut(rest, ">")
	return name, email
}

// ConvertedEnds returns the first file below folders whose bytes on disk differ from
// those of HEAD in line ends alone, or "": git status calls it clean, and what is
// removed or replaced by bytes finds another file.
func (c *Clone) ConvertedEnds(folders ...string) (string, error) {
	head, err := c.Head()
	if err != nil {
		return "", err
	}
	tree, err := c.Tree(head.Commit)
	if err != nil {
		return "", err
	}
	converted := ""
	for _, dir := range folders {
		err := tree.Walk(dir, func(e gittree.Entry) error {
			if converted != "" || !e.IsFile() {
				return nil
			}
			there, err := c.onDisk(e.Path)
			if err != nil || there.absent() || there.Mode == filemode.Symlink || there.Hash == e.Hash() {
				return nil //nolint:nilerr // what is in the way is said when it is met
			}
			here, err := c.readFile(e.Path)
			if err != nil {
				return err
			}
			committed, err := tree.Read(e)
			if err == nil && bytes.Equal(unixEnds(here), unixEnds(committed)) {
				converted = e.Path
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return converted, nil
}

func unixEnds(content []byte) []byte {
	return bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
}
