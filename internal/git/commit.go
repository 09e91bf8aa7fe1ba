package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Commit is the content of a commit. The hash proves that nobody changed it afterwards. It does not
// prove the names and times: the author of a commit can write any.
type Commit struct {
	Hash      Hash
	Tree      Hash
	Parents   []Hash
	Author    Stamp
	Committer Stamp
	Message   string
}

// Stamp is the name, address and time of an author or committer. Unreadable parts are empty or
// zero.
type Stamp struct {
	Name  string
	Email string
	When  time.Time // UTC
	// Offset is the offset of the local time in seconds east of UTC.
	Offset int
}

// Local returns the time in the time zone of the author.
func (s Stamp) Local() time.Time { return s.When.In(time.FixedZone("", s.Offset)) }

// Commit returns a commit. More than [MaxParents] parents are an error. The message of a commit above
// 1 MiB is its first line: an end that is cut off could look like trailers.
func (r *Repository) Commit(hash Hash) (*Commit, error) {
	content, err := r.read(KindCommit, hash, maxCommit)
	if err != nil {
		return nil, err
	}
	c, err := parseCommit(content)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", hash, err)
	}
	c.Hash = hash
	return c, nil
}

// TreeOf returns the tree of a commit without reading the commit again.
func (r *Repository) TreeOf(c *Commit) *Tree { return &Tree{commit: c.Hash, root: c.Tree, objects: r} }

// root returns the root folder of a commit, or an absent entry for an empty Commit.
func (c *Commit) root() Entry {
	if c.Tree.IsZero() {
		return Entry{}
	}
	return Entry{Path: ".", Mode: Dir, hash: c.Tree}
}

// parseCommit parses the header lines in Git's fixed order: tree, parents, author, committer. Other
// lines may follow. The message follows the first empty line.
func parseCommit(content []byte) (*Commit, error) {
	tree, err := header(content, "tree ")
	if err != nil {
		return nil, err
	}
	c := &Commit{Tree: tree}
	_, rest, _ := bytes.Cut(content, []byte("\n"))
	for bytes.HasPrefix(rest, []byte("parent ")) {
		parent, err := header(rest, "parent ")
		if err != nil {
			return nil, err
		}
		if len(c.Parents) == MaxParents {
			return nil, fmt.Errorf("it has more than %d parents", MaxParents)
		}
		c.Parents = append(c.Parents, parent)
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	for _, s := range []struct {
		key  string
		into *Stamp
	}{{"author ", &c.Author}, {"committer ", &c.Committer}} {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		text, ok := strings.CutPrefix(string(line), s.key)
		if !ok {
			return nil, fmt.Errorf("the %sline is missing or misplaced", s.key)
		}
		*s.into, rest = parseStamp(text), after
	}
	if message, ok := bytes.CutPrefix(rest, []byte("\n")); ok {
		c.Message = string(message)
	} else if _, message, ok := bytes.Cut(rest, []byte("\n\n")); ok {
		c.Message = string(message)
	}
	if len(content) >= maxCommit {
		c.Message, _, _ = strings.Cut(c.Message, "\n")
	}
	return c, nil
}

// parseStamp parses "Ann <ann@example.com> 1700000000 +0100".
func parseStamp(text string) Stamp {
	const lastSecond = 253402300799 // of the year 9999: later times have no four-digit year
	name, rest, ok := strings.Cut(text, "<")
	if !ok {
		return Stamp{Name: strings.TrimSpace(text)}
	}
	s := Stamp{Name: strings.TrimSpace(name)}
	end := strings.LastIndex(rest, ">")
	if end < 0 {
		return s
	}
	s.Email = strings.TrimSpace(rest[:end])
	digits, zone, _ := strings.Cut(strings.TrimSpace(rest[end+1:]), " ")
	if seconds, err := strconv.ParseInt(digits, 10, 64); err == nil && seconds >= 0 && seconds <= lastSecond {
		s.When = time.Unix(seconds, 0).UTC()
	}
	if clock, err := time.Parse("-0700", zone); err == nil {
		_, s.Offset = clock.Zone()
	}
	return s
}

// Shallow returns the commits whose parents are missing because of git clone --depth. The list is
// empty if the history is complete.
func (r *Repository) Shallow() ([]Hash, error) {
	content, err := readFile(r.shallow, maxShallow)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read shallow: %w", err)
	}
	var cut []Hash
	for line := range strings.Lines(string(content)) {
		hash := strings.TrimRight(line, "\r\n")
		if !IsHash(hash) {
			return nil, errors.New("read shallow: a line does not contain a hash")
		}
		cut = append(cut, NewHash(hash))
	}
	return cut, nil
}
