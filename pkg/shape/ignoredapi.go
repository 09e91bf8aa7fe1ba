package shape

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// ReasonIgnoredAPI is a reason of findings.
const ReasonIgnoredAPI = "ignored-api"

var ignoredAPICheck = check{
	Title: "Ignored API",
	About: `Finds, where the release of Kyverno is known, an exception that its engine
ignores, that its API server does not serve, or of which the API server drops a field, so
that the live object would not be the signed one. An exception that is ignored is not
harmless: it is reviewed and renewed as if it did something, and what it was for is blocked
on the day of the upgrade.`,
	Reasons: []Reason{
		{ReasonIgnoredAPI, "Kyverno ignores this kind of exception, or will", false},
	},
	Run: (*subject).ignoredAPI,
}

func (s *subject) ignoredAPI(time.Time) {
	group := s.Said.Identity.Group
	if s.engine == 0 {
		for _, v := range served {
			if v.group == group && v.version == s.Said.Version && v.to != 0 {
				s.refuse(exception.ProblemUnknownVersion, exception.Path{"apiVersion"},
					fmt.Sprintf("Kyverno serves %s/%s of PolicyException until 1.%d, and no longer", group, v.version, v.to),
					"write "+newestOf(group, legacyDeprecated)+", or say which release it is for (--kyverno-version)")
			}
		}
		return
	}
	legacy := group == exception.KyvernoGroup
	if legacy && s.engine >= legacyIgnored {
		s.refuse(ReasonIgnoredAPI, exception.Path{"apiVersion"},
			fmt.Sprintf("Kyverno 1.%d ignores the exceptions of %s: this one would exempt nothing", s.engine, group), "write it for "+newestOf(exception.PoliciesGroup, s.engine))
		return
	}
	for _, v := range served {
		if v.group != group || v.version != s.Said.Version {
			continue
		}
		switch {
		case s.engine < v.from:
			s.refuse(exception.ProblemUnknownVersion, exception.Path{"apiVersion"},
				fmt.Sprintf("polex knows %s/%s of PolicyException from Kyverno 1.%d on, and this is checked for 1.%d", group, v.version, v.from, s.engine), "write "+newestOf(group, s.engine))
		case v.to != 0 && s.engine > v.to:
			s.refuse(exception.ProblemUnknownVersion, exception.Path{"apiVersion"},
				fmt.Sprintf("Kyverno 1.%d serves no %s/%s of PolicyException any more", s.engine, group, v.version), "write "+newestOf(group, s.engine))
		case legacy && s.engine >= legacyDeprecated:
			s.warn(ReasonIgnoredAPI, exception.Path{"apiVersion"},
				fmt.Sprintf("%s is deprecated in Kyverno 1.%d, and ignored from 1.%d on", group, s.engine, legacyIgnored), "write it for "+newestOf(exception.PoliciesGroup, s.engine))
		case v.deprecated != 0 && s.engine >= v.deprecated:
			s.warn(ReasonIgnoredAPI, exception.Path{"apiVersion"},
				fmt.Sprintf("%s/%s of PolicyException is deprecated in Kyverno 1.%d", group, v.version, s.engine), "write "+newestOf(group, s.engine))
		}
	}
	for _, f := range since[group] {
		if _, written := s.Doc.Lookup("spec", f.field); written && s.engine < f.from {
			s.refuse(exception.ProblemUnknownField, exception.Path{"spec", f.field},
				fmt.Sprintf("spec.%s is a field from Kyverno 1.%d on: the API server of 1.%d would drop it", f.field, f.from, s.engine), olderField(f.field))
		}
	}
}

// newestOf returns the newest version of a group that a release serves. A
// release that serves none is served best by the other group.
func newestOf(group string, engine int) string {
	for i := len(served) - 1; i >= 0; i-- {
		if v := served[i]; v.group == group && engine >= v.from && (v.to == 0 || engine <= v.to) {
			return v.group + "/" + v.version
		}
	}
	return newestOf(exception.KyvernoGroup, engine)
}

// olderField says how people write what a newer release has a field for.
func olderField(field string) string {
	switch field {
	case "expiresAt":
		return "write the annotation " + exception.AnnotationExpiresAt
	case "properties":
		return "write annotations such as " + exception.AnnotationReason
	default:
		return "remove it, or upgrade Kyverno first"
	}
}
