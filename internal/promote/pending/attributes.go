package pending

import (
	"fmt"
	"path"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Attributes are those by which Git writes other bytes to disk than a commit has. LineEnds
// do so together: what a promotion finds on disk says more, where it finds it.
var (
	Attributes = []string{"filter", "ident", "working-tree-encoding"}
	LineEnds   = []string{"text", "eol"}
)

// CheckAttributes refuses the first path for which an answer of git check-attr -z says that
// one of [Attributes] is set, or that [LineEnds] are converted: what is signed there would
// not be what is checked out.
func CheckAttributes(answer string) *exception.Refusal {
	text := ""
	for said := strings.Split(answer, "\x00"); len(said) >= 3; said = said[3:] {
		file, attribute, value := said[0], said[1], said[2]
		without := strings.Join(Attributes, " -")
		switch {
		case attribute == LineEnds[0]:
			text = value
			continue
		case attribute == LineEnds[1]:
			if value != "crlf" || text == "unset" {
				continue
			}
			without = LineEnds[0]
		case value == "unspecified" || value == "unset":
			continue
		}
		return &exception.Refusal{Position: exception.Position{File: file}, Reason: ReasonNotRegular,
			Message: fmt.Sprintf("it has the attribute %s (%s), so that Git writes other bytes to disk than a commit has", attribute, value),
			Hint:    fmt.Sprintf("write %s/** -%s into .gitattributes, and check the files out again", path.Dir(file), without)}
	}
	return nil
}
