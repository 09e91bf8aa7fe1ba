package shape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
)

// Reasons of findings.
const (
	ReasonBackgroundUserInfo = "background-user-info"
	ReasonBadPodSecurity     = "bad-pod-security"
	ReasonBadSelector        = "bad-selector"
	ReasonBadUserInfo        = "bad-user-info"
	ReasonUnknownPolicyKind  = "unknown-policy-kind"
	reasonKeptByKyverno      = "kept-by-kyverno"
)

var unknownPolicyKindCheck = check{
	Title: "Kinds of policies",
	About: "Finds a reference to a kind of policy that exceptions of this API group do not apply to, such as " +
		"ClusterPolicy. Kyverno accepts the exception and exempts nothing. A policy of some namespaced kinds " +
		"is not computed again when an exception changes.",
	Reasons: []Reason{{Name: ReasonUnknownPolicyKind,
		Doc: "exceptions of this API group do not apply to policies of that kind", Fixed: true},
		{Name: reasonKeptByKyverno, Doc: "Kyverno still applies the exception after its expiry and deletion",
			Severity: Warning}},
	Run: func(s *subject) {
		for _, ref := range s.Refs {
			kind := ref.Kind.Text
			if ref.KeepsDeleted() {
				s.find(reasonKeptByKyverno, ref.Kind.Path, "name a "+strings.TrimPrefix(kind, "Namespaced")+
					", or change the policy, or restart Kyverno, after the expiry",
					"Kyverno 1.19 notices a new or a deleted exception from a %s only when the policy itself changes, "+
						"so this one lasts beyond its expiry", kind)
			}
			if kind == "" || wildcard.In(kind) || slices.Contains(kyverno.ConditionPolicyKinds, kind) {
				continue // an empty one is the schema's, a pattern is wildcardPolicy's
			}
			hint := "write one of " + strings.Join(kyverno.ConditionPolicyKinds, ", ")
			if kyverno.HasRules(kind) {
				hint = fmt.Sprintf("write an exception of %s for a %s", kyverno.APIVersion(kyverno.MatchKind), kind)
			}
			s.find(ReasonUnknownPolicyKind, ref.Kind.Path,
				hint, "exceptions of %s do not apply to policies of kind %q", ref.Group, kind)
		}
	},
}

var backgroundUserInfoCheck = check{
	About: "Finds roles, clusterRoles or subjects in an exception that also applies to background scans. A " +
		"background scan has no request, so Kyverno's webhook rejects the exception. `background` is true by default.",
	Reasons: []Reason{{Name: ReasonBackgroundUserInfo,
		Doc:   "the exception lists roles or subjects and applies to background scans, which Kyverno rejects",
		Fixed: true}},
	Run: func(s *subject) {
		if !s.Background {
			return
		}
		for _, f := range s.Match.Filters() {
			for _, of := range []struct {
				field string
				count int
			}{{"roles", len(f.Roles)}, {"clusterRoles", len(f.ClusterRoles)}, {"subjects", len(f.Subjects)}} {
				if of.count > 0 {
					s.find(ReasonBackgroundUserInfo, f.Path.With(of.field), "write background: false, or remove "+
						of.field, "%s requires background: false, because a background scan has no request", of.field)
				}
			}
		}
	},
}

var badUserInfoCheck = check{
	About: "Finds roles and subjects in a form that Kyverno's webhook rejects. A role is `namespace:name`. A subject " +
		"is a User, a Group, or a ServiceAccount with its namespace.",
	Reasons: []Reason{{Name: ReasonBadUserInfo, Doc: "Kyverno rejects the form of a role or subject", Fixed: true}},
	Run: func(s *subject) {
		for _, f := range s.Match.Filters() {
			for _, role := range f.Roles {
				if strings.Count(role.Text, ":") != 1 {
					s.find(ReasonBadUserInfo, role.Path, "write it as namespace:name, e.g. team-a:admin",
						"%q is not a role in the form namespace:name", role.Text)
				}
			}
			for _, person := range f.Subjects {
				s.badSubject(person)
			}
		}
	},
}

func (s *subject) badSubject(person kyverno.Subject) {
	path := person.Path
	switch person.Kind {
	case "User", "Group":
	case "ServiceAccount":
		if person.Namespace == "" {
			s.find(ReasonBadUserInfo, path.With("namespace"), "add its namespace",
				"the ServiceAccount has no namespace")
		}
	default:
		s.find(ReasonBadUserInfo, path.With("kind"), "write User, Group or ServiceAccount",
			"%q is not a kind of subject", person.Kind)
	}
	if person.Named && person.Name == "" {
		s.find(ReasonBadUserInfo, path.With("name"), "add the name of the user, group or service account",
			"the subject has no name")
	}
}

var badSelectorCheck = check{
	About: "Finds a label selector that Kyverno's webhook rejects: it requires no label, or has an invalid operator, " +
		"value or label key. A namespaceSelector, or a selector with a pattern in its matchLabels, matches nothing " +
		"then, so the same rules apply to it.",
	Reasons: []Reason{{Name: ReasonBadSelector, Doc: "Kyverno rejects a label selector, or matches nothing with it",
		Fixed: true}},
	Run: func(s *subject) {
		for _, f := range s.Match.Filters() {
			for _, selector := range []*kyverno.Selector{f.Selector, f.NamespaceSelector} {
				if selector == nil {
					continue
				}
				if len(selector.Labels) == 0 && len(selector.Expressions) == 0 {
					s.find(ReasonBadSelector, selector.Path, "add matchLabels, or remove the selector",
						"the selector requires no label")
				}
				for _, p := range selector.Problems() {
					s.find(ReasonBadSelector, p.Path, p.Hint, "%s", p.Message)
				}
			}
		}
	},
}

// The controls of the Pod Security Standards that look at containers alone, and at Pods alone. The others look at both,
// and images narrow them if they are given.
var (
	containerControls = []string{"Capabilities", "Privileged Containers", "Host Ports", "/proc Mount Type",
		"Privilege Escalation"}
	podControls = []string{"Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types"}
)

var badPodSecurityCheck = check{
	About: "Finds a podSecurity entry that Kyverno's webhook rejects: a control over containers without images, a " +
		"control over Pods with images, a field without values, or values without a field.",
	Reasons: []Reason{{Name: ReasonBadPodSecurity, Doc: "Kyverno rejects a podSecurity entry", Fixed: true}},
	Run: func(s *subject) {
		for _, entry := range s.PodSecurity {
			switch name, images := entry.Name, len(entry.Images); {
			case slices.Contains(containerControls, name) && images == 0:
				s.find(ReasonBadPodSecurity, entry.Path, "add images, e.g. registry.example.com/web:*",
					"the control %q checks containers, and requires images", name)
			case slices.Contains(podControls, name) && images > 0:
				s.find(ReasonBadPodSecurity, entry.Path.With("images"),
					"remove images", "the control %q checks the whole Pod, and accepts no images", name)
			}
			switch field, values := entry.Field, len(entry.Values); {
			case field != "" && values == 0:
				s.find(ReasonBadPodSecurity, entry.Path.With("restrictedField"),
					"add values", "the restrictedField %q has no values", field)
			case field == "" && values > 0:
				s.find(ReasonBadPodSecurity, entry.Path.With("values"),
					"add restrictedField, e.g. spec.containers[*].securityContext.capabilities.add",
					"values requires restrictedField")
			}
		}
	},
}
