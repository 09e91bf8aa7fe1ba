package gitchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Head is where the work tree is in history.
type Head struct {
	// Branch is the reference that the work tree is on, in full, or HEAD where it
	// is on none.
	Branch plumbing.ReferenceName
	Commit plumbing.Hash
}

// Head returns where the work tree is.
func (c *Clone) Head() (Head, error) {
	head, err := c.repository.Reference(plumbing.HEAD, false)
	if err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if head.Type() == plumbing.HashReference {
		return Head{Branch: plumbing.HEAD, Commit: head.Hash()}, nil
	}
	branch, err := c.repository.Reference(head.Target(), false)
	if err != nil {
		return Head{}, fmt.Errorf("read %s: %w", head.Target(), err)
	}
	if branch.Type() != plumbing.HashReference {
		return Head{}, fmt.Errorf("%s leads on to %s, which is not supported", branch.Name(), branch.Target())
	}
	return Head{Branch: branch.Name(), Commit: branch.Hash()}, nil
}

// referenceRoot returns the folder that a reference's file is in.
func (c *Clone) referenceRoot(name plumbing.ReferenceName) *os.Root {
	if name == plumbing.HEAD {
		return c.own
	}
	return c.common
}

// logMove notes in the reflogs that a branch and HEAD moved, once.
func (c *Clone) logMove(j *journal) error {
	line := fmt.Sprintf("%s %s %s\t%s\n", j.Base, j.Commit, j.Who, j.What)
	logs := []string{"logs/HEAD"}
	if j.Branch != plumbing.HEAD {
		logs = append(logs, "logs/"+j.Branch.String())
	}
	cfg, err := c.repository.Config()
	if err != nil {
		return fmt.Errorf("read Git configuration: %w", err)
	}
	wanted := !strings.EqualFold(cfg.Raw.Section("core").Option("logAllRefUpdates"), "false")
	for i, name := range logs {
		root := c.own
		if i > 0 {
			root = c.common
		}
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) && !wanted {
			continue
		}
		if err := c.appendOnce(root, name, []byte(line)); err != nil {
			return err
		}
	}
	return nil
}

// appendOnce appends a line unless it is the last one already: a run that was
// cut off may have come this far.
func (c *Clone) appendOnce(root *os.Root, name string, line []byte) error {
	return c.do("append to "+name, func() error {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err != nil {
			return errors.Join(err, f.Close())
		}
		last := make([]byte, len(line))
		if at := info.Size() - int64(len(line)); at >= 0 {
			if _, err := f.ReadAt(last, at); err != nil && !errors.Is(err, io.EOF) {
				return errors.Join(err, f.Close())
			}
		}
		if !bytes.Equal(last, line) {
			_, err = f.Write(line)
		}
		return errors.Join(err, f.Sync(), f.Close())
	})
}

// signatureLine is how a reflog names who did something.
func signatureLine(s object.Signature) string {
	return fmt.Sprintf("%s <%s> %d %s", s.Name, s.Email, s.When.Unix(), s.When.Format("-0700"))
}
