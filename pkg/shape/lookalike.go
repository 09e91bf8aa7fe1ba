package shape

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

const reasonLookAlike = "look-alike"

var lookAlikeCheck = check{
	About: "Finds two names that differ only in letter case or white space, in one list or in one field of the " +
		"entries of a list. A reader takes them for one name. Also finds a name that begins or ends with " +
		"white space.",
	Reasons: []Reason{{Name: reasonLookAlike, Doc: "two names look the same to a reader"}},
	Run:     (*subject).lookAlike,
}

func (s *subject) lookAlike() {
	first := map[[2]string]string{} // by path, without letter case and space
	for _, name := range s.identifiers() {
		plain := [2]string{lookedAtWith(name.Path), strings.ToLower(strings.Trim(name.Text, " "))}
		switch earlier, met := first[plain]; {
		case strings.Trim(name.Text, " ") != name.Text:
			s.find(reasonLookAlike, name.Path, fmt.Sprintf("the name %q begins or ends with white space", name.Text),
				"remove the white space")
		case met && earlier != name.Text:
			s.find(reasonLookAlike, name.Path, fmt.Sprintf("%q and %q differ only in letter case", name.Text, earlier),
				"keep the spelling of the resource or policy")
		case !met:
			first[plain] = name.Text
		}
	}
}

// lookedAtWith returns a key for the names that a reader compares with this one: those of the same
// list, or of the same field in the other entries. So the kind Pod does not look like a resource
// called pod, nor a rule like one of another policy.
func lookedAtWith(path exception.Path) string {
	if last := len(path) - 1; last >= 0 {
		if _, inList := path[last].(int); inList {
			return path[:last].String()
		}
	}
	var fields exception.Path
	for _, step := range path {
		if _, isIndex := step.(int); !isIndex {
			fields = append(fields, step)
		}
	}
	return fields.String()
}
