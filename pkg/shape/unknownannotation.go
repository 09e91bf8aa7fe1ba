package shape

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonBadCluster = "bad-cluster"

// clusterForm matches a name or a pattern of clusters, also one like an ARN.
var clusterForm = regexp.MustCompile(`^[A-Za-z0-9*?]([A-Za-z0-9.:/@_*?-]*[A-Za-z0-9*?])?$`)

var unknownAnnotationCheck = check{
	Title: "Annotations of polex",
	About: "Finds an annotation or label under `polex.dev/` that polex does not define, such as " +
		"`polex.dev/expire-at`, one under a similar domain, and a limit among the properties. Reviewers " +
		"believe it, and polex ignores it.",
	Reasons: []Reason{manifest.UnknownAnnotation,
		{Name: reasonBadCluster,
			Doc: "`polex.dev/cluster` is no list of names and patterns, with commas between them"}},
	Run: (*subject).unknownAnnotation,
}

func (s *subject) unknownAnnotation() {
	own := slices.Concat(s.config.Statements.All(), s.config.Rules.Terms.Keys)
	for _, key := range manifest.UnknownKeys(s.Doc, own) {
		s.find(manifest.UnknownAnnotation.Name, key.Path, key.Message, key.Hint)
	}
	path := exception.Path{"metadata", "annotations", exception.AnnotationCluster}
	value, stated := s.Doc.Lookup(path...)
	names := s.Doc.Clusters()
	if len(names) == 0 && stated {
		names = []string{""}
	}
	for _, name := range names {
		if !clusterForm.MatchString(name) {
			s.find(reasonBadCluster, path,
				fmt.Sprintf("%q is not the name of a cluster, in %q", name, fmt.Sprint(value)),
				"write names and patterns with commas between them, such as prod-*, test-1")
			return
		}
	}
}
