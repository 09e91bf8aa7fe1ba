package gitchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// journal is what is about to be done to the clone. While it lies in the Git
// folder, it is not known how much of it was. The content of files is in the
// repository's objects by then.
type journal struct {
	// Branch is what is moved, as [Head] has it, from Base to Commit. Where Commit
	// is zero, only the work tree is changed, and the index and the branch are left
	// as they are.
	Branch       plumbing.ReferenceName
	Base, Commit plumbing.Hash
	Who, What    string // for the reflog
	Edits        []edit
}

const (
	journalName = folder + "/journal.json"
	journalNew  = folder + "/journal.new"
	maxJournal  = 64 << 20
)

// journalText is the journal as it is written.
type journalText struct {
	Version int        `json:"version"`
	Branch  string     `json:"branch"`
	Base    string     `json:"base"`
	Commit  string     `json:"commit,omitempty"`
	Who     string     `json:"who,omitempty"`
	What    string     `json:"what,omitempty"`
	Edits   []editText `json:"edits"`
}

type editText struct {
	Path    string `json:"path"`
	OldMode string `json:"oldMode,omitempty"`
	Old     string `json:"old,omitempty"`
	NewMode string `json:"newMode,omitempty"`
	New     string `json:"new,omitempty"`
}

const journalVersion = 1

func (c *Clone) writeJournal(j *journal) error {
	text := journalText{Version: journalVersion, Branch: j.Branch.String(), Base: j.Base.String(), Who: j.Who, What: j.What}
	if !j.Commit.IsZero() {
		text.Commit = j.Commit.String()
	}
	for _, e := range j.Edits {
		t := editText{Path: e.Path}
		if !e.Old.absent() {
			t.OldMode, t.Old = e.Old.Mode.String(), e.Old.Hash.String()
		}
		if !e.New.absent() {
			t.NewMode, t.New = e.New.Mode.String(), e.New.Hash.String()
		}
		text.Edits = append(text.Edits, t)
	}
	content, err := json.MarshalIndent(text, "", " ")
	if err != nil {
		return err
	}
	if err := c.do("write the journal", func() error {
		f, err := c.own.OpenFile(journalNew, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(append(content, '\n'))
		return errors.Join(err, f.Sync(), f.Close())
	}); err != nil {
		return err
	}
	return c.do("rename the journal", func() error {
		if err := c.own.Rename(journalNew, journalName); err != nil {
			return err
		}
		return syncFolder(c.own, folder)
	})
}

// readJournal returns nil where there is none.
func (c *Clone) readJournal() (*journal, error) {
	content, err := c.own.ReadFile(journalName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var text journalText
	if err := json.Unmarshal(content, &text); err != nil || text.Version != journalVersion || len(content) > maxJournal {
		return nil, fmt.Errorf("its journal %s in the Git folder cannot be read (version %d): look at git status, put the work tree right, and remove that file", journalName, text.Version)
	}
	j := &journal{Branch: plumbing.ReferenceName(text.Branch), Base: plumbing.NewHash(text.Base), Commit: plumbing.NewHash(text.Commit), Who: text.Who, What: text.What}
	for _, t := range text.Edits {
		e := edit{Path: t.Path}
		if !fs.ValidPath(t.Path) || hasGitFolder(t.Path) {
			return nil, fmt.Errorf("its journal names %q, which is no file of the repository", t.Path)
		}
		for _, v := range []struct {
			mode, hash string
			into       *version
		}{{t.OldMode, t.Old, &e.Old}, {t.NewMode, t.New, &e.New}} {
			if v.hash == "" {
				continue
			}
			mode, err := filemode.New(v.mode)
			if err != nil || !plumbing.IsHash(v.hash) {
				return nil, fmt.Errorf("its journal says of %q what cannot be", t.Path)
			}
			*v.into = version{Mode: mode, Hash: plumbing.NewHash(v.hash)}
		}
		j.Edits = append(j.Edits, e)
	}
	return j, nil
}

func (c *Clone) removeJournal() error {
	return c.do("remove the journal", func() error {
		for _, name := range []string{journalNew, journalName} {
			if err := c.own.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return syncFolder(c.own, folder)
	})
}
