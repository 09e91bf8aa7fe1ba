package pending

import (
	"fmt"
	"path"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Attributes are the Git attributes that make the checked out bytes differ from the committed ones.
// LineEnds do so in combination. They are apart, because promotion finds such files on disk and
// reports them better.
var (
	Attributes = []string{"filter", "ident", "working-tree-encoding"}
	LineEnds   = []string{"text", "eol"}
)

// CheckAttributes returns the first of [AllAttributes], or nil.
func CheckAttributes(answer string) *exception.Refusal {
	if refusals := AllAttributes(answer); len(refusals) > 0 {
		return refusals[0]
	}
	return nil
}

// AllAttributes parses the output of git check-attr -z. It rejects the paths with one of
// [Attributes] or with a conversion of [LineEnds]: the checkout would differ from the signed bytes.
func AllAttributes(answer string) (refusals exception.Refusals) {
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
		refusals = append(refusals, &exception.Refusal{Position: exception.Position{File: file}, Reason: ReasonNotRegular,
			Message: fmt.Sprintf("it has the attribute %s (%s), so that Git writes other bytes to disk than a commit has", attribute, value),
			Hint:    fmt.Sprintf("write %s/** -%s into .gitattributes, and check the files out again", path.Dir(file), without)})
	}
	return refusals
}
