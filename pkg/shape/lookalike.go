package shape

import (
	"fmt"
	"strings"
	"time"
)

// lookAlike finds two names in one exception that differ in nothing but letter
// case or white space, which are one name to a reader and two to Kyverno, and a
// name that begins or ends with white space.
func (s *subject) lookAlike(time.Time) {
	first := map[string]string{}
	for _, name := range s.identifiers() {
		plain := strings.ToLower(strings.Trim(name.text, " "))
		switch earlier, met := first[plain]; {
		case strings.Trim(name.text, " ") != name.text:
			s.refuse(ReasonLookAlike, name.path, fmt.Sprintf("the name %q begins or ends with white space", name.text), "remove it")
		case met && earlier != name.text:
			s.refuse(ReasonLookAlike, name.path, fmt.Sprintf("%q and %q differ in letter case alone", name.text, earlier), "write the name as the resource or policy has it")
		case !met:
			first[plain] = name.text
		}
	}
}
