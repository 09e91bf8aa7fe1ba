package shape

import (
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
)

const reasonIgnoredAPI = "ignored-api"

var ignoredAPICheck = check{
	About: "Finds an exception that the release of Kyverno (`shape.kyvernoVersion` or `--kyverno-version`) ignores " +
		"or does not serve, or a field that its API server drops. People would review and renew an ignored " +
		"exception, and Kyverno blocks the workload that needs it.",
	Reasons: []Reason{{Name: reasonIgnoredAPI, Doc: "Kyverno ignores this kind of exception, or deprecates its version",
		Milder: true}},
	Run: (*subject).ignoredAPI,
}

func (s *subject) ignoredAPI() {
	at, kind, release := exception.Path{"apiVersion"}, s.Stated.Identity.GroupKind, s.release
	v, known := kyverno.VersionOf(kind, s.Stated.Version)
	if release == 0 {
		if known && v.To != 0 {
			s.find(schema.UnknownVersion, at,
				fmt.Sprintf("Kyverno serves the PolicyException of %s/%s only until 1.%d", kind.Group, v.Name, v.To),
				"write "+kyverno.MatchDeprecated.Newest(kind)+", or name an older release with --kyverno-version")
		}
		return
	}
	newest := "write " + release.Newest(kind)
	if s.ByMatch && release >= kyverno.MatchIgnored {
		s.find(reasonIgnoredAPI, at,
			fmt.Sprintf("Kyverno 1.%d ignores the exceptions of %s, so this one would exempt nothing", release,
				kind.Group), "rewrite it for "+release.Newest(kyverno.ConditionKind)+": polex-validate --fix")
		return
	}
	switch {
	case !known: // for the schema
	case release < v.From:
		s.find(schema.UnknownVersion, at,
			fmt.Sprintf("polex supports the PolicyException of %s/%s from Kyverno 1.%d on, and the configured "+
				"release is 1.%d", kind.Group, v.Name, v.From, release), newest)
	case v.To != 0 && release > v.To:
		s.find(schema.UnknownVersion, at,
			fmt.Sprintf("Kyverno 1.%d no longer serves the PolicyException of %s/%s", release, kind.Group, v.Name),
			newest)
	case v.Deprecated != 0 && release >= v.Deprecated:
		s.warn(reasonIgnoredAPI, at,
			fmt.Sprintf("the PolicyException of %s/%s is deprecated in Kyverno 1.%d", kind.Group, v.Name, release),
			newest)
	}
	for _, f := range kyverno.Fields(kind) {
		if _, written := s.Doc.Lookup("spec", f.Name); written && release < f.From {
			s.find(schema.UnknownField, exception.Path{"spec", f.Name},
				fmt.Sprintf("spec.%s exists from Kyverno 1.%d on, and the API server of 1.%d would drop it", f.Name,
					f.From, release), olderField(f.Name))
		}
	}
}

// olderField returns the edit for a field that only a newer release has.
func olderField(field string) string {
	switch field {
	case "expiresAt":
		return "write the annotation " + exception.AnnotationExpiresAt
	case "properties":
		return "write annotations, e.g. " + exception.AnnotationReason
	default:
		return "remove it, or upgrade Kyverno first"
	}
}
