package shape

import (
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
)

var unknownAnnotationCheck = check{
	About: "Finds an annotation or label under `polex.dev/` that polex does not define, such as " +
		"`polex.dev/expire-at`, one under a similar domain, and a limit among the properties. Reviewers " +
		"believe it, and polex ignores it.",
	Reasons: []Reason{manifest.UnknownAnnotation},
	Run:     (*subject).unknownAnnotation,
}

func (s *subject) unknownAnnotation() {
	own := slices.Concat(s.config.Statements.All(), s.config.Rules.Terms.Keys)
	for _, key := range manifest.UnknownKeys(s.Doc, own) {
		s.find(manifest.UnknownAnnotation.Name, key.Path, key.Message, key.Hint)
	}
}
