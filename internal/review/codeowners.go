package review

import (
	"bytes"
	"fmt"

	"github.com/hmarr/codeowners"
)

// Limits of a CODEOWNERS file. GitHub ignores a file over 3 MB.
const (
	maxOwnersFile = 3 << 20
	maxOwnerRules = 10_000
	maxOwnersLine = 32 << 10
)

// ownersPlaces are the paths of the file. The first existing one is used.
var ownersPlaces = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}

// CodeOwners are the rules of a CODEOWNERS file.
type CodeOwners struct{ rules codeowners.Ruleset }

// ParseCodeOwners reads a CODEOWNERS file like GitHub, with one difference: an invalid line is an
// error. GitHub ignores it, and then other people own the files of that line. A file of more than 3
// MB or 10,000 lines, or a line of more than 32 KB, is an error too.
func ParseCodeOwners(text []byte) (*CodeOwners, error) {
	if len(text) > maxOwnersFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxOwnersFile)
	}
	lines := 0
	for line := range bytes.Lines(text) {
		// codeowners.ParseFile would silently stop at a longer line.
		if lines++; len(line) > maxOwnersLine || lines > maxOwnerRules {
			return nil, fmt.Errorf("line %d: it is longer than %d bytes, or the file than %d lines", lines, maxOwnersLine, maxOwnerRules)
		}
		// codeowners.ParseFile fails on this pattern, which matches nothing.
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

// Owners returns the owners of a file as written: @user, @org/team or an email address. The last
// matching rule counts, even if it names no owner.
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
