package gitchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/polex-dev/polex/internal/gittree"
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
	// Otherwise another work tree than Git's would be changed.
	if top, err := c.git(context.Background(), "", nil, "rev-parse", "--show-toplevel"); err == nil {
		top = strings.TrimSuffix(top, "\n")
		theirs, err := os.Stat(top) // #nosec G703 -- what Git says, and only compared
		ours, errOurs := c.work.Stat(".")
		if err := errors.Join(err, errOurs); err != nil {
			return fmt.Errorf("open repository: %w", err)
		}
		if !os.SameFile(theirs, ours) {
			return fmt.Errorf("%w: core.worktree leads to %q: work in a clone of your own", ErrSetting, top)
		}
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

// CheckBytes refuses files below folders that have other bytes on disk than in HEAD, or are
// executable in one of the two alone, although git status calls them clean: what is removed
// or replaced by its bytes finds another file. It says what hides the difference.
func (c *Clone) CheckBytes(folders ...string) error {
	head, err := c.Head()
	if err != nil {
		return err
	}
	tree, err := c.Tree(head.Commit)
	if err != nil {
		return err
	}
	for _, dir := range folders {
		err := tree.Walk(dir, func(e gittree.Entry) error {
			there, err := c.onDisk(e.Path)
			if !e.IsFile() || err != nil || there.absent() || there.Mode == filemode.Symlink || there == (version{Mode: e.Mode, Hash: e.Hash()}) {
				return nil //nolint:nilerr // what is in the way is said when it is met
			}
			if there.Hash == e.Hash() {
				return fmt.Errorf("%w: %q is executable on disk or in the commit alone, and core.fileMode is false: set it to true, and restore the file", ErrSetting, e.Path)
			}
			here, err := c.readFile(e.Path)
			if err != nil {
				return err
			}
			committed, err := tree.Read(e)
			if err != nil {
				return err
			}
			if bytes.Equal(unixEnds(here), unixEnds(committed)) {
				return fmt.Errorf("%w: %q has other line ends on disk than in the commit, so that core.autocrlf, core.eol or an eol attribute converts it: "+
					"write %s/** -text into .gitattributes, and check the files out again", ErrSetting, e.Path, strings.Join(folders, "/** -text and "))
			}
			return fmt.Errorf("%w: %q has other bytes on disk than in the commit, and git status does not show it: git update-index --really-refresh", ErrSetting, e.Path)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Attributes returns what git check-attr -z says of attributes of paths.
func (c *Clone) Attributes(paths []string, names ...string) (string, error) {
	if len(paths) == 0 {
		return "", nil
	}
	out, err := c.git(context.Background(), strings.Join(paths, "\x00")+"\x00", nil, append([]string{"check-attr", "-z", "--stdin"}, names...)...)
	if err != nil {
		return "", fmt.Errorf("read attributes of files: %w", err)
	}
	return out, nil
}

func unixEnds(content []byte) []byte {
	return bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
}
