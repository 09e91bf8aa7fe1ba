package request

import (
	"cmp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
)

// resolved is a violation with facts from policies and manifests.
type resolved struct {
	Violation
	ref  string // the policy's name in an exception
	rule string // name in the policy, without Kyverno's prefix; "" for policies.kyverno.io
	// direct means that the rule is for this kind itself. Kyverno did not generate it for the
	// controllers of Pods.
	direct bool
	known  *kyverno.Rule // nil if the policies are not known
	// pods means that the policy is about Pods, wondering that this is not known.
	pods, wondering bool
	controls        []Control
	guessed         bool // the policy may not be a ClusterPolicy
	builtIn         bool // the resource may be of another API group
}

// The policy kinds of kyverno.io.
const (
	kindClusterPolicy = "ClusterPolicy"
	kindPolicy        = "Policy"
)

// resolve looks up the policy and the rule.
func (r *requester) resolve(v Violation) (*resolved, *Problem) {
	if v.Resource.APIVersion == "" {
		v.Resource.APIVersion = r.objects.apiVersion(v.Resource)
	}
	builtIn := v.Resource.APIVersion == ""
	if builtIn && len(r.objects) == 0 {
		v.Resource.APIVersion = builtInVersions[v.Resource.Kind]
	}
	if p := v.wellFormed(); p != nil {
		return nil, p
	}
	one := &resolved{Violation: v, rule: v.Rule, builtIn: builtIn}
	refuse := func(reason, hint, format string, args ...any) (*resolved, *Problem) {
		return nil, problem(reason, v, hint, format, args...)
	}
	if r.Policies == nil {
		switch {
		case v.Unsure:
			return refuse(ReasonPolicyNeeded, "give the policies with --policies, or the message with its line breaks",
				"without line breaks, %q may be the name of a rule or part of a message",
				plain.Cut(v.Rule, longestQuote))
		case v.PolicyKind != "":
			one.PolicyKind = v.PolicyKind
		case v.Rule == "":
			return refuse(ReasonPolicyNeeded, "give the policies: --policies",
				"the source does not state which kind of policy %q is", v.Policy)
		case strings.Contains(v.Policy, "/"):
			one.PolicyKind = kindPolicy
		default:
			one.PolicyKind, one.guessed = kindClusterPolicy, true
		}
		one.name()
		one.withoutPolicies()
	} else {
		known := r.lookUp(&v)
		if len(known) == 0 {
			names := slices.Concat(r.Policies.Names(exception.KyvernoGroup), r.Policies.Names(exception.PoliciesGroup))
			hint := cmp.Or(exception.Nearest(v.Policy, names),
				"correct the name, or add the file of the policy to --policies")
			kind := cmp.Or(v.PolicyKind, "policy")
			return refuse(ReasonUnknownPolicy, hint, "the policies have no %s %q", kind, v.Policy)
		}
		for _, k := range known[1:] {
			if k.Identity != known[0].Identity {
				return refuse(ReasonPolicyNeeded, "give only the violated policy",
					"%q may be %s or %s", v.Policy, known[0].Identity, k.Identity)
			}
		}
		one.PolicyKind = known[0].Kind
		if known[0].Namespace != "" || one.PolicyKind == kindPolicy {
			namespace := known[0].Namespace
			if namespace == "" {
				namespace = v.Resource.Namespace // kustomize or a similar tool sets it
			}
			one.Policy = namespace + "/" + known[0].Name
		}
		one.name()
		if !one.withPolicies(known) {
			hint := cmp.Or(exception.Nearest(v.Rule, kyverno.RuleNames(known)),
				"correct the name, or give the policy as it was at the time of the violation")
			return refuse(ReasonUnknownRule, hint, "the policy %q has no rule %q", one.Policy, v.Rule)
		}
	}
	one.controls = r.objects.controls(v)
	return one, nil
}

// lookUp returns the documents of a violated policy. A Policy is in the namespace of the resource,
// even if the source does not name it. Some sources wrongly give a rule to a policy of
// policies.kyverno.io.
func (r *requester) lookUp(v *Violation) []*kyverno.Policy {
	known := slices.DeleteFunc(r.Policies.Called(v.Policy), func(k *kyverno.Policy) bool {
		return v.PolicyKind != "" && k.Kind != v.PolicyKind || k.Namespace != "" && k.Namespace != v.Resource.Namespace
	})
	isNew := func(k *kyverno.Policy) bool { return !kyverno.HasRules(k.Kind) }
	if v.Rule != "" && slices.ContainsFunc(known, func(k *kyverno.Policy) bool { return !isNew(k) }) {
		return slices.DeleteFunc(known, isNew)
	}
	return slices.DeleteFunc(known, func(k *kyverno.Policy) bool { return !isNew(k) })
}

// name sets the policy's name in an exception.
func (one *resolved) name() {
	one.ref = one.Policy
	if !one.hasRules() {
		one.ref = one.Policy[strings.LastIndex(one.Policy, "/")+1:]
		one.Rule, one.rule = "", ""
	}
}

// kind returns the kind of an exception for the policy.
func (one *resolved) kind() exception.GroupKind {
	if one.hasRules() {
		return kyverno.MatchKind
	}
	return kyverno.ConditionKind
}

// hasRules reports whether the exception names rules of the policy.
func (one *resolved) hasRules() bool { return kyverno.HasRules(one.PolicyKind) }

// withoutPolicies uses the name of a rule to detect whether Kyverno generated it.
func (one *resolved) withoutPolicies() {
	if !one.hasRules() {
		one.wondering = one.Resource.isWorkload()
		return
	}
	prefix := kyverno.AutogenPrefix
	if one.Resource.Kind == kindCronJob {
		prefix = kyverno.AutogenCronJobPrefix
	}
	base, generated := strings.CutPrefix(one.Rule, prefix)
	if generated && one.Resource.isWorkload() {
		one.rule = base
	}
	one.direct = !generated && !one.Resource.isPod()
}

// withPolicies finds the rule in the documents of its policy.
func (one *resolved) withPolicies(known []*kyverno.Policy) bool {
	for _, k := range known {
		one.pods = one.pods || k.AboutPods
		for _, rule := range k.Rules {
			switch one.Rule {
			case rule.Name:
				one.known, one.direct = &rule, !one.Resource.isPod()
				return true
			case rule.Made[one.Resource.Kind]:
				one.known, one.rule = &rule, rule.Name
				return true
			}
		}
	}
	return !one.hasRules()
}

// form returns the name of the rule that Kyverno applies to Pods or one kind of their controllers,
// or "" if there is none.
func (one *resolved) form(kind string) string {
	switch {
	case one.direct:
		return one.rule
	case kind == kindPod:
		return one.rule
	case one.known != nil:
		return one.known.Made[kind]
	case one.Rule == one.rule:
		return "" // no source contains a rule for controllers
	case kind == kindCronJob:
		return kyverno.AutogenCronJobPrefix + one.rule
	default:
		return kyverno.AutogenPrefix + one.rule
	}
}
