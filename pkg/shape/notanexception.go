package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonNotAnException is a reason of findings.
const ReasonNotAnException = "not-an-exception"

var notAnExceptionCheck = check{
	Title:   "Not an exception",
	Reasons: []Reason{{Name: ReasonNotAnException, Doc: "the document is no PolicyException of kyverno.io or policies.kyverno.io", Fixed: true}},
}

// notAnException finds a document of another kind. A list is one too: what is
// sealed is one document, and kubectl's List would be sealed as a whole.
func (s *subject) notAnException() {
	hint := fmt.Sprintf("write apiVersion: %s or %s, and kind: %s", kyverno.APIVersion(kyverno.MatchKind), kyverno.APIVersion(kyverno.ConditionKind), exception.Kind)
	if kind := s.Doc.Text("kind"); kind == "List" || kind == exception.Kind+"List" {
		hint = "write each exception as a document of its own"
	}
	s.find(ReasonNotAnException, exception.Path{"kind"},
		fmt.Sprintf("this is %q of %q, and a %s is expected", s.Doc.Text("kind"), s.Doc.APIVersion(), exception.Kind), hint)
}
