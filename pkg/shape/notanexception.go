package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonNotAnException is a reason of findings.
const ReasonNotAnException = "not-an-exception"

var notAnExceptionCheck = check{
	About: "Finds a document of another kind, and a list: polex signs exceptions one by one.",
	Reasons: []Reason{{Name: ReasonNotAnException,
		Doc: "the document is not a PolicyException of kyverno.io or policies.kyverno.io", Fixed: true}},
}

// notAnException finds a document of another kind. A list is one too:
// polex signs single documents, and would sign kubectl's List as a whole.
func (s *subject) notAnException() {
	match, condition := kyverno.APIVersion(kyverno.MatchKind), kyverno.APIVersion(kyverno.ConditionKind)
	hint := "move it out of this folder, or give each document its own file (yq -s) and add --skip-other-kinds"
	gk := s.Doc.GroupKind()
	found := fmt.Sprintf("found kind %q of %q", s.Doc.Text("kind"), s.Doc.APIVersion())
	if gk.Kind == "" && s.Doc.APIVersion() == "" {
		found = "found no kind and no apiVersion"
	}
	groupHint := exception.Nearest(s.Doc.APIVersion(), []string{match, condition})
	switch kindHint := exception.Nearest(gk.Kind, []string{exception.Kind}); {
	case gk.LooksLikeList() || s.Doc.IsList():
		hint = "write each exception to a file of its own; yq -s does it, with '.items[]' for a list"
	case gk.Kind == exception.Kind && groupHint != "":
		s.find(ReasonNotAnException, exception.Path{"apiVersion"},
			fmt.Sprintf("found apiVersion %q, expected %s or %s", s.Doc.APIVersion(), match, condition), groupHint)
		return
	case kindHint != "" && gk.Kind != exception.Kind &&
		(gk.Group == exception.KyvernoGroup || gk.Group == exception.PoliciesGroup):
		hint = kindHint
	case kindHint != "", gk.LooksLikeException(),
		gk.Kind == "" && (gk.Group == exception.KyvernoGroup || gk.Group == exception.PoliciesGroup):
		hint = fmt.Sprintf("write apiVersion: %s or %s, and kind: %s", match, condition, exception.Kind)
	}
	s.find(ReasonNotAnException, exception.Path{"kind"}, found+", expected "+exception.Kind, hint)
}
