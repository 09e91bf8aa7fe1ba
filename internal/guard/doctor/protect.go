package doctor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// protect checks the admission policies that protect the guard from changes. Admission policies
// cannot protect admission policies, so only this check finds that one is missing.
func (k *checkup) protect(ctx context.Context) {
	const subject = policies
	var bindings admission.ValidatingAdmissionPolicyBindingList
	k.staticPolicies()
	if k.policies == nil || !k.list(ctx, "validatingadmissionpolicybindings", &bindings) {
		return
	}
	present, bound := byName(k.policies, bindings.Items)
	names := slices.Collect(maps.Keys(k.delivered))
	if k.Static != nil && len(present) == 0 {
		return // the static policies protect the guard
	}
	if !slices.ContainsFunc(names, func(name string) bool { return present[name] != nil || bound[name] }) {
		k.found(subject, "not-protected")
		return
	}
	before := len(k.findings)
	wrong := func(name, message string) { k.report(subject+"/"+name, "protection-hole", "%s", message) }
	names = slices.AppendSeq(names, maps.Keys(present))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		switch p := present[name]; {
		case p == nil:
			wrong(name, "it does not exist")
		case !closes(p.Spec):
			wrong(name, "it admits requests that it cannot evaluate, or validates nothing")
		case !bound[name]:
			wrong(name, "no binding makes it deny everywhere: there is none, or it leaves something out or only warns")
		case k.delivered[name] != nil && !equality.Semantic.DeepEqual(asStored(p.Spec), asStored(*k.delivered[name])):
			f := k.report(subject+"/"+name, "protection-hole",
				"it differs from the policy of this version of polex-guard in more than the administrators")
			f.Outcome = Doubtful
			f.Hint = "compare it with policies/guard/protect, and apply it again unless the difference is intended"
		}
	}
	maps.DeleteFunc(present, func(name string, _ *admission.ValidatingAdmissionPolicy) bool {
		return k.delivered[name] == nil
	})
	exempt := k.exempt(present)
	if len(k.findings) == before {
		k.fine(subject, "the policies that protect the guard exist and are bound; they do not restrict "+exempt)
	}
}

// byName returns the policies of polex, and the names of all that a binding makes deny everywhere.
func byName(policies []admission.ValidatingAdmissionPolicy, bindings []admission.ValidatingAdmissionPolicyBinding) (
	present map[string]*admission.ValidatingAdmissionPolicy, bound map[string]bool) {
	present, bound = map[string]*admission.ValidatingAdmissionPolicy{}, map[string]bool{}
	for i := range policies {
		if p := &policies[i]; strings.HasPrefix(p.Name, "polex-") {
			present[p.Name] = p
		}
	}
	for _, b := range bindings {
		bound[b.Spec.PolicyName] = bound[b.Spec.PolicyName] || denies(b.Spec)
	}
	return present, bound
}

// lists are the variables in which kustomize writes the administrators and certifiers.
var lists = []string{"users", "groups", "certifiers"}

// everybody are users and groups that an attacker can be a member of.
var everybody = []string{"system:anonymous", "system:unauthenticated", "system:authenticated",
	"system:serviceaccounts", "system:nodes", "system:bootstrappers"}

var (
	quoted = regexp.MustCompile(`'[^'\\]*'|"[^"\\]*"`)
	plain  = regexp.MustCompile(`^\[\s*((` + quoted.String() + `)\s*(,\s*(` + quoted.String() + `)\s*)*)?\]$`)
)

// exempt checks the lists of policies, and describes them. A list must hold quoted names only: an
// expression could name the user of each request.
func (k *checkup) exempt(policies map[string]*admission.ValidatingAdmissionPolicy) string {
	first := map[string]string{}
	for _, policy := range slices.Sorted(maps.Keys(policies)) {
		hole := func(outcome Outcome, format string, args ...any) {
			f := k.report("validatingadmissionpolicies/"+policy, "protection-hole", format, args...)
			f.Outcome = outcome
			f.Hint = "apply policies/guard/protect with the names in administrators.yaml, and find out who changed it"
		}
		for _, v := range policies[policy].Spec.Variables {
			if !slices.Contains(lists, v.Name) {
				continue
			}
			if !plain.MatchString(strings.TrimSpace(v.Expression)) {
				hole(Wrong, "its list %s is %q, and not a list of quoted names", v.Name, v.Expression)
				continue
			}
			given := quoted.FindAllString(v.Expression, -1)
			for i, text := range given {
				if given[i] = text[1 : len(text)-1]; slices.Contains(everybody, given[i]) {
					hole(Wrong, "its list %s names %q, so it restricts almost nobody", v.Name, given[i])
				}
			}
			text := fmt.Sprintf("%s %q", v.Name, given)
			if first[v.Name] = cmp.Or(first[v.Name], text); first[v.Name] != text {
				hole(Doubtful, "its list is %s, and that of another policy %s", text, first[v.Name])
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Values(first)), ", ")
}

type policySpec = admission.ValidatingAdmissionPolicySpec

// policiesIn returns the policies of policies/guard/protect by their names.
func policiesIn(folder fs.FS) (map[string]*policySpec, error) {
	all := map[string]*policySpec{}
	files, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var p admission.ValidatingAdmissionPolicy
			if err := yaml.Unmarshal(document, &p); err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			if p.Kind == "ValidatingAdmissionPolicy" {
				all[p.Name] = &p.Spec
			}
		}
	}
	return all, nil
}

// asStored normalizes a policy: without its lists of administrators, which the function exempt checks,
// with single spaces (kustomize folds lines differently) and with the defaults of the API server.
func asStored(spec policySpec) *policySpec {
	p := spec.DeepCopy()
	spaced := func(expression *string) { *expression = strings.Join(strings.Fields(*expression), " ") }
	for i := range p.MatchConditions {
		spaced(&p.MatchConditions[i].Expression)
	}
	for i := range p.Validations {
		spaced(&p.Validations[i].Expression)
		spaced(&p.Validations[i].MessageExpression)
	}
	for i := range p.Variables {
		spaced(&p.Variables[i].Expression)
		if slices.Contains(lists, p.Variables[i].Name) {
			p.Variables[i].Expression = ""
		}
	}
	p.FailurePolicy = cmp.Or(p.FailurePolicy, new(admission.Fail))
	m := p.MatchConstraints
	if m == nil {
		return p
	}
	m.MatchPolicy = cmp.Or(m.MatchPolicy, new(admission.Equivalent))
	m.NamespaceSelector = cmp.Or(m.NamespaceSelector, &metav1.LabelSelector{})
	m.ObjectSelector = cmp.Or(m.ObjectSelector, &metav1.LabelSelector{})
	for _, rules := range [][]admission.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			rules[i].Scope = cmp.Or(rules[i].Scope, new(admission.AllScopes))
		}
	}
	return p
}

// denies reports whether a binding makes its policy deny everywhere.
func denies(b admission.ValidatingAdmissionPolicyBindingSpec) bool {
	m := cmp.Or(b.MatchResources, &admission.MatchResources{})
	if selects(m.NamespaceSelector) || selects(m.ObjectSelector) ||
		len(m.ResourceRules)+len(m.ExcludeResourceRules) > 0 {
		return false
	}
	return b.ParamRef == nil && slices.Contains(b.ValidationActions, admission.Deny)
}
