package review

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
)

// maxMerged is the maximum number of commits of one merge, and of commits of the branch that are read
// to find the begin of a merge.
const maxMerged = 1000

var (
	coAuthor = regexp.MustCompile(`(?im)^[ \t]*co-authored-by:(.*)<([^<>]*)>`)
	address  = regexp.MustCompile(`<([^<>]*)>`)
)

// writers are the people who wrote a merged commit, by name and by address in lower case: authors,
// committers and co-authors. Each of these texts is a claim of its author. It can only remove an
// approval, and never add one.
type writers map[string]bool

func (w writers) add(people ...Signer) {
	for _, who := range people {
		w[strings.ToLower(strings.TrimSpace(who.Name))] = true
		w[strings.ToLower(strings.TrimSpace(who.Email))] = true
	}
	delete(w, "")
}

func (w writers) has(who Signer) bool {
	return w[strings.ToLower(who.Name)] || w[strings.ToLower(who.Email)]
}

// writers returns the people who wrote a commit or, for a merge, one of the commits that it merged. It
// returns nil for more than [maxMerged] merged commits.
func (r *Reviewer) writers(merge *git.Commit) (writers, error) {
	w := writers{}
	w.addCommit(merge)
	if len(merge.Parents) == 0 {
		return w, nil
	}
	line, err := ancestors(r.config.History, merge.Parents[0], maxMerged)
	if err != nil {
		return nil, err
	}
	seen := map[git.Hash]bool{merge.Parents[0]: true}
	for _, commit := range line {
		seen[commit] = true
	}
	side := slices.Clone(merge.Parents[1:])
	for most := len(seen) + maxMerged; len(side) > 0; side = side[1:] {
		if seen[side[0]] {
			continue
		}
		if seen[side[0]] = true; len(seen) > most {
			return nil, nil
		}
		commit, err := r.config.History.Commit(side[0])
		if err != nil {
			return nil, missing("read commit "+side[0].String(), err)
		}
		w.addCommit(commit)
		side = append(side, commit.Parents...)
	}
	return w, r.sameAddresses(merge.Parents[0], w)
}

func (w writers) addCommit(c *git.Commit) {
	w.add(Signer{c.Author.Name, c.Author.Email}, Signer{c.Committer.Name, c.Committer.Email})
	for _, m := range coAuthor.FindAllStringSubmatch(c.Message, -1) {
		w.add(Signer{Name: m[1], Email: m[2]})
	}
}

// sameAddresses adds the other addresses that the .mailmap of a commit has for the same people. A
// line of it names one person.
func (r *Reviewer) sameAddresses(commit git.Hash, w writers) error {
	content, err := r.config.History.ReadFile(commit, ".mailmap")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return missing("read .mailmap", err)
	}
	for range 10 { // an address can lead to another one in a line before
		for line := range strings.Lines(string(content)) {
			var all []Signer
			known := false
			for _, m := range address.FindAllStringSubmatch(line, -1) {
				all = append(all, Signer{Email: m[1]})
				known = known || w.has(all[len(all)-1])
			}
			if known {
				w.add(all...)
			}
		}
	}
	return nil
}
