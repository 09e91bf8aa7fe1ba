package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonUnknownKind = "unknown-kind"

var unknownKindCheck = check{
	About: "Finds a kind that is probably misspelt: in lower case, in the plural, of another group or version, or " +
		"within one letter of a kind of Kubernetes or of the policies. Such an exception has no effect.",
	Reasons: []Reason{{Name: reasonUnknownKind, Doc: "the kind looks like another one, misspelt", Severity: Warning}},
	Run:     (*subject).unknownKind,
}

// builtinKinds are the kinds of Kubernetes, sorted.
var builtinKinds = manifest.Kinds()

// likeOthers are well-known kinds of custom resources within one letter of one of Kubernetes.
var likeOthers = []string{"CNINode", "Endpoint"}

// maxUnknownKinds is the maximum number of kinds that the check compares: each with all known ones.
const maxUnknownKinds = 32

func (s *subject) unknownKind() {
	if s.counts[ReasonReachesGuard] > 0 {
		return
	}
	var custom []string
	if s.config.Policies != nil {
		custom = s.config.Policies.Kinds()
	}
	left := maxUnknownKinds
	for _, filters := range s.Alternatives(wildcard.NewMeter()) {
		for _, f := range filters {
			for _, kind := range f.Kinds {
				selector := kyverno.ParseKind(kind.Text)
				text := selector.Kind
				if served := manifest.Served(selector.Group, selector.Version, text); served != "" && s.ByMatch &&
					!s.isFound(ReasonNeverMatches, kind.Path) {
					s.find(reasonUnknownKind, kind.Path, fmt.Sprintf("Kubernetes does not serve %s as %q", text,
						kind.Text), fmt.Sprintf("write %q", served))
				}
				if wildcard.In(text) || isListed(builtinKinds, text) || isListed(custom, text) ||
					strings.Contains(selector.Group, ".") && !strings.HasSuffix(selector.Group, ".k8s.io") ||
					slices.Contains(likeOthers, text) {
					continue
				}
				if left--; left < 0 {
					return
				}
				path := kind.Path
				if !s.ByMatch {
					path = s.whereConditions()
				}
				if meant := meantKind(text, slices.Concat(custom, builtinKinds)); meant != "" {
					s.find(reasonUnknownKind, path, fmt.Sprintf("%q is no kind of Kubernetes, and is like %q", text,
						meant), fmt.Sprintf("write %q, if you mean that", meant))
				}
			}
		}
	}
}

// meantKind returns the known kind that a text probably means, or "".
func meantKind(text string, known []string) string {
	const shortest = 5 // of a name in which one letter is a mistake and not another name
	for _, kind := range known {
		if strings.EqualFold(text, kind) || strings.EqualFold(text, manifest.Plural(kind)) {
			return kind
		}
	}
	for _, kind := range known {
		if len(kind) >= shortest && exception.Edits(text, kind, 2) < 2 {
			return kind
		}
	}
	return ""
}
