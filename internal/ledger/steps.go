package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Steps is a cache of the changes of commits in the two folders, by commit hash. Reading them from
// Git takes long, and anybody with the repository can compute them again. The cache holds no
// verification result: every run reads and verifies the documents.
type Steps struct {
	signed, unsigned string
	changes          map[plumbing.Hash][]change
	grown            bool
}

// stepsFormat changes with the file format and with the rules for finding changes.
const stepsFormat = 1

type writtenSteps struct {
	Format   int                      `json:"format"`
	Signed   string                   `json:"signed"`
	Unsigned string                   `json:"unsigned"`
	Changes  map[string][]writtenStep `json:"changes"`
}

type writtenStep struct {
	Path   string `json:"p"`
	Old    string `json:"o,omitempty"` // "" for no content, prefix "-" for an object that is not a file
	New    string `json:"n,omitempty"`
	Origin string `json:"a,omitempty"`
}

// NewSteps returns an empty cache.
func NewSteps(signed, unsigned string) *Steps {
	return &Steps{signed: signed, unsigned: unsigned, changes: map[plumbing.Hash][]change{}}
}

// ReadSteps parses the output of [Steps.Marshal]. It returns an error for another format or for
// other folders.
func ReadSteps(raw []byte, signed, unsigned string) (*Steps, error) {
	var w writtenSteps
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("read steps: %w", err)
	}
	if w.Format != stepsFormat || w.Signed != signed || w.Unsigned != unsigned {
		return nil, errors.New("read steps: they have another form, or other folders")
	}
	s := NewSteps(signed, unsigned)
	for commit, list := range w.Changes {
		changes := make([]change, len(list))
		for i, item := range list {
			changes[i] = change{Signed: inside(item.Path, signed), Path: item.Path, Old: readContent(item.Old), New: readContent(item.New), Origin: plumbing.NewHash(item.Origin)}
		}
		s.changes[plumbing.NewHash(commit)] = changes
	}
	return s, nil
}

// Marshal writes the steps as JSON.
func (s *Steps) Marshal() ([]byte, error) {
	w := writtenSteps{Format: stepsFormat, Signed: s.signed, Unsigned: s.unsigned, Changes: make(map[string][]writtenStep, len(s.changes))}
	for commit, changes := range s.changes {
		list := make([]writtenStep, len(changes))
		for i, c := range changes {
			list[i] = writtenStep{Path: c.Path, Old: c.Old.written(), New: c.New.written()}
			if !c.Origin.IsZero() {
				list[i].Origin = c.Origin.String()
			}
		}
		w.Changes[commit.String()] = list
	}
	return json.Marshal(w)
}

// Grown reports whether the cache has changed since it was read.
func (s *Steps) Grown() bool { return s != nil && s.grown }

func (s *Steps) of(commit plumbing.Hash) ([]change, bool) {
	if s == nil {
		return nil, false
	}
	changes, ok := s.changes[commit]
	return changes, ok
}

// add stores a step. It skips a step without its parents (shallow clone): there, every file looks
// added by that commit.
func (s *Steps) add(of *step) {
	if s == nil || of.cut {
		return
	}
	s.changes[of.commit.Hash], s.grown = of.changes, true
}

func (s *Steps) forget() {
	if s != nil {
		s.changes, s.grown = map[plumbing.Hash][]change{}, true
	}
}

// inside reports whether a path is the folder or lies in it.
func inside(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

func (c content) written() string {
	switch {
	case c.Hash.IsZero():
		return ""
	case c.File:
		return c.Hash.String()
	default:
		return "-" + c.Hash.String()
	}
}

func readContent(text string) content {
	if len(text) == 0 {
		return content{}
	}
	if text[0] == '-' {
		return content{Hash: plumbing.NewHash(text[1:])}
	}
	return content{Hash: plumbing.NewHash(text), File: true}
}
