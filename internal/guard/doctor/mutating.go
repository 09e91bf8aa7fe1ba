package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// mutator changes objects on their way.
type mutator struct {
	subject    string
	rules      []admissionregistrationv1.RuleWithOperations
	namespaces *metav1.LabelSelector
	// authored says that its rules follow from what authors of policies write.
	authored bool
}

// mutating looks for what may change objects before the guard is asked. An exception
// that was signed does not survive that: it keeps honest ones out, and lets nothing in.
// What the guard rests on does: a ConfigMap that somebody who may touches is another
// one when it is stored.
func (k *checkup) mutating(ctx context.Context) {
	mutators, ok := k.mutators(ctx)
	if !ok {
		return
	}
	var namespace corev1.Namespace
	if err := k.Client.Get(ctx, types.NamespacedName{Name: k.Namespace}, &namespace); err != nil {
		k.unknown("namespaces/"+k.Namespace, err)
		return
	}
	defer k.unlessFound("mutating webhooks and policies", "nothing is asked about exceptions, or about "+k.Namespace)()
	for _, m := range mutators {
		if k.asksAbout(m.rules, admissionregistrationv1.Create) || k.asksAbout(m.rules, admissionregistrationv1.Update) {
			k.add(Finding{Outcome: Doubtful, Subject: m.subject, Reason: ReasonMutates,
				Message: "it is asked to change exceptions; one that it does change is refused as altered", Hint: "leave policyexceptions out of its rules"})
		}
		k.blocks(m.subject, m.rules)
		if !m.selects(namespace.Labels) {
			continue
		}
		const hint = "leave the namespace out by its namespaceSelector; of Kyverno, by config.webhooks.namespaceSelector of its chart"
		if what := m.changes(believed); len(what) > 0 {
			k.add(Finding{Subject: m.subject, Reason: ReasonMutatesGuard, Message: fmt.Sprintf("it can change %s of %s, by which the guard decides", strings.Join(what, ", "), k.Namespace), Hint: hint})
		} else if what := m.changes(running); len(what) > 0 {
			k.add(Finding{Outcome: Doubtful, Subject: m.subject, Reason: ReasonMutatesGuard, Message: fmt.Sprintf("it can change %s of %s, and so the programs that run there", strings.Join(what, ", "), k.Namespace), Hint: hint})
		} else if m.authored {
			k.add(Finding{Outcome: Doubtful, Subject: m.subject, Reason: ReasonMutatesGuard, Message: "everybody who can write a mutating policy can change the ConfigMap and Secret of " + k.Namespace, Hint: hint})
		}
	}
}

// What the guard rests on in its namespace: what it decides and takes turns by, and what
// runs.
var (
	believed = []schema.GroupResource{{Resource: "configmaps"}, {Resource: "secrets"}, {Group: "coordination.k8s.io", Resource: "leases"}}
	running  = []schema.GroupResource{{Resource: "pods"}, {Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "replicasets"}, {Resource: "services"}}
)

// changes returns which resources of a list a mutator is asked about.
func (m mutator) changes(list []schema.GroupResource) []string {
	var names []string
	for _, r := range list {
		mapping := &meta.RESTMapping{Resource: r.WithVersion("v1"), Scope: meta.RESTScopeNamespace}
		if asks(m.rules, mapping, admissionregistrationv1.Create) || asks(m.rules, mapping, admissionregistrationv1.Update) {
			names = append(names, r.Resource)
		}
	}
	return names
}

// selects reports whether a mutator is asked about a namespace with these labels. What
// its conditions and its selector of objects leave out is for whoever writes it to say.
func (m mutator) selects(of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(m.namespaces)
	return err != nil || m.namespaces == nil || selector.Matches(labels.Set(of))
}

// policy is the kind of the policies that change objects, which an API server may not
// know, or know in an older version.
var policy = schema.GroupKind{Group: admissionregistrationv1.GroupName, Kind: "MutatingAdmissionPolicy"}

// mutators are the webhooks and policies that change objects.
func (k *checkup) mutators(ctx context.Context) (all []mutator, ok bool) {
	const webhooks, policies = "mutatingwebhookconfigurations", "mutatingadmissionpolicies"
	var list admissionregistrationv1.MutatingWebhookConfigurationList
	if err := k.Client.List(ctx, &list); err != nil {
		k.unknown(webhooks, err)
		return nil, false
	}
	for _, config := range list.Items {
		for _, w := range config.Webhooks {
			all = append(all, mutator{webhooks + "/" + config.Name + " " + w.Name, w.Rules, w.NamespaceSelector, strings.HasPrefix(config.Name, "kyverno-resource-")})
		}
	}
	mapping, err := k.Client.RESTMapper().RESTMapping(policy)
	if meta.IsNoMatchError(err) {
		return all, true
	}
	if err != nil {
		k.unknown(policies, err)
		return nil, false
	}
	items, ok := k.list(ctx, policies, mapping.GroupVersionKind.GroupVersion().WithKind(policy.Kind+"List"))
	for _, item := range items {
		var p struct {
			Spec struct {
				MatchConstraints struct {
					NamespaceSelector *metav1.LabelSelector
					ResourceRules     []admissionregistrationv1.NamedRuleWithOperations
				}
			}
		}
		text, err := item.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			k.unknown(policies+"/"+item.GetName(), err)
			continue
		}
		m := mutator{subject: policies + "/" + item.GetName(), namespaces: p.Spec.MatchConstraints.NamespaceSelector}
		for _, r := range p.Spec.MatchConstraints.ResourceRules {
			m.rules = append(m.rules, r.RuleWithOperations)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b mutator) int { return strings.Compare(a.subject, b.subject) })
	return all, ok
}
