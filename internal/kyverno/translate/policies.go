package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
)

// policies converts the policies and rules to policyRefs. These contain the name and kind of a
// policy, but no rules and no namespace. A policy in a namespace applies only to resources there.
// Therefore a condition on the namespace excludes policies of the same name elsewhere.
func (t *translator) policies() {
	if len(t.Refs) == 0 {
		t.note(t.RefsPath, "the exception names no policy", "name the policy that it is an exception from")
	}
	met := map[string]bool{}
	for i, ref := range t.Refs {
		namespace, name, namespaced := strings.Cut(ref.Name.Text, "/")
		if !namespaced {
			namespace, name = "", ref.Name.Text
		}
		if i == 0 {
			t.namespace = namespace
		}
		if namespace != t.namespace {
			t.note(ref.Name.Path, fmt.Sprintf("%q and %q are in different namespaces, and the new form cannot "+
				"express that", t.Refs[0].Name.Text, ref.Name.Text),
				"write an exception for each namespace, and one for the policies of the cluster")
		}
		t.rules(ref)
		kind, known := t.how.PolicyKinds[ref.Name.Text]
		switch {
		case !known:
			t.note(ref.Name.Path, fmt.Sprintf("an exception of policies.kyverno.io names policies of "+
				"policies.kyverno.io, and --policies has no single one named %q", ref.Name.Text),
				"migrate the policy first, and give its new file with --policies")
			continue
		case !knownPolicyKind(kind):
			t.note(ref.Name.Path, fmt.Sprintf("%q is not a kind of policy that can replace %q", kind, ref.Name.Text),
				"name one of "+strings.Join(translated, ", ")+", or its Namespaced form")
			continue
		case strings.HasPrefix(kind, namespacedPrefix) != namespaced:
			t.note(ref.Name.Path, fmt.Sprintf("%q would become a %s: only one of the two kinds has a namespace",
				ref.Name.Text, kind), "write a new exception for a policy that has moved")
			continue
		}
		if !met[ref.Name.Text] {
			met[ref.Name.Text] = true
			t.refs = append(t.refs, kyverno.PolicyKey{Name: name, Kind: kind})
		}
	}
}

// rules notes that the new form cannot distinguish rules. Only a pattern that matches every name
// selects all rules.
func (t *translator) rules(ref kyverno.Ref) {
	path := ref.RulesPath()
	switch {
	case len(ref.Rules) == 0:
		t.note(path, fmt.Sprintf("no rule of %q is named, so the exception exempts from nothing there", ref.Name.Text),
			"remove the policy, or name its rules")
	case t.how.WholePolicy || slices.ContainsFunc(ref.RuleNames(), anyText):
	default:
		t.note(path, fmt.Sprintf("the new form exempts from the whole of %q, and this exception from the rules that "+
			"it names", ref.Name.Text),
			"confirm the whole policy if these are all its rules, or if the others may be skipped too")
	}
}
