package attacks

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// Verified is the expected result of a document that must be accepted.
const Verified = "verified"

// The files of a case.
const (
	PolicyFile = "policy.yaml" // it refers to RootFile by its name
	RootFile   = "trusted_root.json"
)

// Case is one file to verify.
type Case struct {
	// Name is the path of the case without .txtar: the folder of its reason, and its title.
	Name string
	// Expect has the expected result of each document of the file, in their order: the reason of
	// the rejection, or [Verified].
	Expect []string
	Title  string
	Now    time.Time
	// Differs is the reason if cosign accepts or rejects the same evidence differently, or "".
	Differs string

	File   string // the name of Input
	Input  []byte
	Policy []byte
	Root   []byte
	// The names of Policy and Root in the corpus. Many cases share them.
	policy, root string
}

const header = "# expect: "

// marshal writes a case. Its policy and its root go into files of their own.
func (c *Case) marshal() []byte {
	var comment strings.Builder
	fmt.Fprintf(&comment, "%s%s\n", header, strings.Join(c.Expect, " "))
	fmt.Fprintf(&comment, "# title: %s\n", c.Title)
	fmt.Fprintf(&comment, "# now: %s\n", c.Now.UTC().Format(time.RFC3339Nano))
	if c.Differs != "" {
		fmt.Fprintf(&comment, "# cosign differs: %s\n", c.Differs)
	}
	fmt.Fprintf(&comment, "# policy: %s\n# root: %s\n", c.policy, c.root)
	return txtar.Format(&txtar.Archive{Comment: []byte(comment.String()),
		Files: []txtar.File{{Name: c.File, Data: c.Input}}})
}

func unmarshal(name string, raw []byte) (*Case, error) {
	archive := txtar.Parse(raw)
	c := &Case{Name: name}
	if !bytes.HasPrefix(archive.Comment, []byte(header)) {
		return nil, fmt.Errorf("%s does not begin with %q", name, header)
	}
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "# ")), ": ")
		if !ok {
			return nil, fmt.Errorf("%s: the line %q is not a key and a value", name, line)
		}
		var err error
		switch key {
		case "expect":
			c.Expect = strings.Fields(value)
		case "title":
			c.Title = value
		case "now":
			c.Now, err = time.Parse(time.RFC3339Nano, value)
		case "cosign differs":
			c.Differs = value
		case "policy":
			c.policy = value
		case "root":
			c.root = value
		default:
			err = fmt.Errorf("the key %q is unknown", key)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(archive.Files) != 1 {
		return nil, fmt.Errorf("%s does not hold one file to judge", name)
	}
	c.File, c.Input = archive.Files[0].Name, archive.Files[0].Data
	return c, nil
}
