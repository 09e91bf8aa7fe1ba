package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonNotAnException is a reason of findings.
const ReasonNotAnException = "not-an-exception"

var notAnExceptionCheck = check{
	About:   "Finds a document of another kind, and a list: polex signs exceptions one by one.",
	Reasons: []Reason{{Name: ReasonNotAnException, Doc: "the document is not a PolicyException of kyverno.io or policies.kyverno.io", Fixed: true}},
}

// notAnException finds a document of another kind. A list is one too:
// polex signs single documents, and would sign kubectl's List as a whole.
func (s *subject) notAnException() {
	hint := "move it out of this folder, or split the file (polex-validate --split) and add --skip-other-kinds"
	switch gk := s.Doc.GroupKind(); {
	case gk.LooksLikeList() || s.Doc.IsList():
		hint = "run polex-validate --split, which writes one file for each exception"
	case exception.Nearest(gk.Kind, []string{exception.Kind}) != "", gk.LooksLikeException(), gk.Kind == "" && (gk.Group == exception.KyvernoGroup || gk.Group == exception.PoliciesGroup):
		hint = fmt.Sprintf("write apiVersion: %s or %s, and kind: %s", kyverno.APIVersion(kyverno.MatchKind), kyverno.APIVersion(kyverno.ConditionKind), exception.Kind)
	}
	s.find(ReasonNotAnException, exception.Path{"kind"},
		fmt.Sprintf("found kind %q of %q, expected %s", s.Doc.Text("kind"), s.Doc.APIVersion(), exception.Kind), hint)
}
