package shape

import (
	"cmp"
	"fmt"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	ReasonNotAnException = "not-an-exception"
	reasonIgnoredAPI     = "ignored-api"
)

var schemaCheck = check{
	Title: "Schema",
	About: "Finds content that the API server would reject, drop or change. [Lifetime](#lifetime) covers an invalid " +
		"`spec.expiresAt`.",
	Reasons: []Reason{{Name: schema.UnknownVersion, Doc: "the API group does not have this version of PolicyException",
		Fixed: true}, {Name: schema.UnknownField, Doc: "the API server does not know a field and would drop it",
		Fixed: true}, {Name: schema.UnsignableField,
		Doc: "metadata has a field that the API server or a controller sets", Fixed: true},
		{Name: schema.MissingField, Doc: "a required field is missing", Fixed: true},
		{Name: schema.WrongType, Doc: "a value has another type than its field requires", Fixed: true},
		{Name: schema.InvalidValue, Doc: "the field does not accept this value", Fixed: true},
		{Name: schema.NullValue, Doc: "the API server would drop a null, and the live object would differ from the " +
			"signed one", Fixed: true}, {Name: schema.EmptyValue,
			Doc: "a value is empty and must not be, or the API server would drop it", Fixed: true}},
	Run: (*subject).schema,
}

func (s *subject) schema() {
	for _, p := range schema.Check(s.Doc) {
		if p.Reason == schema.InvalidValue && p.Path.String() == "spec.expiresAt" {
			continue
		}
		s.find(p.Reason, p.Path, p.Hint, "%s", p.Message)
	}
}

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
	inGroup := gk.Group == exception.KyvernoGroup || gk.Group == exception.PoliciesGroup
	found := fmt.Sprintf("found kind %q of %q", s.Doc.Text("kind"), s.Doc.APIVersion())
	if gk.Kind == "" && s.Doc.APIVersion() == "" {
		found = "found no kind and no apiVersion"
	}
	groupHint := exception.Nearest(s.Doc.APIVersion(), []string{match, condition})
	switch kindHint := exception.Nearest(gk.Kind, []string{exception.Kind}); {
	case gk.LooksLikeList() || s.Doc.IsList():
		hint = "write each exception to a file of its own; yq -s does it, with '.items[]' for a list"
	case gk.Kind == exception.Kind && groupHint != "":
		s.find(ReasonNotAnException, exception.Path{"apiVersion"}, groupHint, "found apiVersion %q, expected %s or %s",
			s.Doc.APIVersion(), match, condition)
		return
	case kindHint != "" && gk.Kind != exception.Kind && inGroup:
		hint = kindHint
	case kindHint != "", gk.LooksLikeException(), gk.Kind == "" && inGroup:
		hint = fmt.Sprintf("write apiVersion: %s or %s, and kind: %s", match, condition, exception.Kind)
	}
	s.find(ReasonNotAnException, exception.Path{"kind"}, hint, "%s, expected %s", found, exception.Kind)
}

var ignoredAPICheck = check{
	About: "Finds an exception that the release of Kyverno (`shape.kyvernoVersion` or `--kyverno-version`) ignores " +
		"or does not serve, or a field that its API server drops. People would review and renew an ignored " +
		"exception, and Kyverno blocks the workload that needs it.",
	Reasons: []Reason{{Name: reasonIgnoredAPI, Doc: "Kyverno ignores this kind of exception, or deprecates its version",
		Milder: true}},
	Run: func(s *subject) {
		at, kind, release := exception.Path{"apiVersion"}, s.Stated.Identity.GroupKind, s.release
		v, known := kyverno.VersionOf(kind, s.Stated.Version)
		if release == 0 {
			if known && v.To != 0 {
				s.find(schema.UnknownVersion, at,
					"write "+kyverno.MatchDeprecated.Newest(kind)+", or name an older release with --kyverno-version",
					"Kyverno serves the PolicyException of %s/%s only until 1.%d", kind.Group, v.Name, v.To)
			}
			return
		}
		newest := "write " + release.Newest(kind)
		if s.ByMatch && release >= kyverno.MatchIgnored {
			s.find(reasonIgnoredAPI, at, "rewrite it for "+release.Newest(kyverno.ConditionKind)+
				": polex-validate --fix",
				"Kyverno 1.%d ignores the exceptions of %s, so this one would exempt nothing", release, kind.Group)
			return
		}
		switch {
		case !known: // for the schema
		case release < v.From:
			s.find(schema.UnknownVersion, at,
				newest, "polex supports the PolicyException of %s/%s from Kyverno 1.%d on, and the configured "+
					"release is 1.%d", kind.Group, v.Name, v.From, release)
		case v.To != 0 && release > v.To:
			s.find(schema.UnknownVersion, at,
				newest, "Kyverno 1.%d no longer serves the PolicyException of %s/%s", release, kind.Group, v.Name)
		case v.Deprecated != 0 && release >= v.Deprecated:
			s.warn(reasonIgnoredAPI, at,
				newest, "the PolicyException of %s/%s is deprecated in Kyverno 1.%d", kind.Group, v.Name, release)
		}
		instead := map[string]string{"expiresAt": "write the annotation " + exception.AnnotationExpiresAt,
			"properties": "write annotations, e.g. " + exception.AnnotationReason}
		for _, f := range kyverno.Fields(kind) {
			if _, written := s.Doc.Lookup("spec", f.Name); written && release < f.From {
				s.find(schema.UnknownField, exception.Path{"spec", f.Name},
					cmp.Or(instead[f.Name], "remove it, or upgrade Kyverno first"),
					"spec.%s exists from Kyverno 1.%d on, "+
						"and the API server of 1.%d would drop it", f.Name, f.From, release)
			}
		}
	},
}
