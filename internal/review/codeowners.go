package review

import (
	"bytes"
	"fmt"

	"github.com/hmarr/codeowners"
)

// Bounds of a CODEOWNERS file. GitHub reads none of more than 3 MB.
const (
	maxOwnersFile = 3 << 20
	maxOwnerRules = 10_000
	maxOwnersLine = 32 << 10
)

// ownersPlaces are where the file may lie; the first that exists counts.
var ownersPlaces = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}

// CodeOwners are the rules of a CODEOWNERS file.
type CodeOwners struct{ rules codeowners.Ruleset }

// ParseCodeOwners reads the rules of a CODEOWNERS file as GitHub does, but for a
// line that cannot be read: GitHub passes it over, and here it is an error, for
// the file that it was meant for would fall to somebody else. So is a file of
// more than 3 MB, 10,000 lines, or 32 KB in a line.
func ParseCodeOwners(text []byte) (*CodeOwners, error) {
	if len(text) > maxOwnersFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxOwnersFile)
	}
	lines := 0
	for line := range bytes.Lines(text) {
		// The reader below would stop at a longer one without a word.
		if lines++; len(line) > maxOwnersLine || lines > maxOwnerRules {
			return nil, fmt.Errorf("line %d: it is longer than %d bytes, or the file than %d lines", lines, maxOwnersLine, maxOwnerRules)
		}
		// And this pattern, which matches nothing, it would fall over.
		rule, _, _ := bytes.Cut(line, []byte("#"))
		if fields := bytes.Fields(rule); len(fields) > 0 && len(bytes.Trim(fields[0], "/")) == 0 {
			return nil, fmt.Errorf("line %d: the pattern %q matches nothing", lines, fields[0])
		}
	}
	rules, err := codeowners.ParseFile(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return &CodeOwners{rules: rules}, nil
}

// Owners returns the owners of a file, as they are written: @user, @org/team or
// an address. The last rule that matches counts, also where it names nobody.
func (c *CodeOwners) Owners(path string) ([]string, error) {
	rule, err := c.rules.Match(path)
	if err != nil || rule == nil {
		return nil, err
	}
	var owners []string
	for _, o := range rule.Owners {
		owners = append(owners, o.String())
	}
	return owners, nil
}
