package pending

import (
	"fmt"
	"path"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// Attributes are those by which Git writes other bytes to disk than a commit has.
var Attributes = []string{"filter", "ident", "working-tree-encoding"}

// CheckAttributes refuses the first path for which an answer of git check-attr -z says that
// one of [Attributes] is set: what is signed there would not be what is checked out.
func CheckAttributes(answer string) *exception.Refusal {
	for said := strings.Split(answer, "\x00"); len(said) >= 3; said = said[3:] { // path, attribute and value
		if value := said[2]; value != "unspecified" && value != "unset" {
			return &exception.Refusal{Position: exception.Position{File: said[0]}, Reason: ReasonNotRegular,
				Message: fmt.Sprintf("it has the attribute %s (%s), so that Git writes other bytes to disk than a commit has", said[1], value),
				Hint:    fmt.Sprintf("write %s/** -%s into .gitattributes, and check the files out again", path.Dir(said[0]), strings.Join(Attributes, " -"))}
		}
	}
	return nil
}
