package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/rules"
)

// mutator is a webhook or policy that changes objects at admission.
type mutator struct {
	subject    string
	rules      []admissionregistrationv1.RuleWithOperations
	namespaces *metav1.LabelSelector
	objects    *metav1.LabelSelector
	// authored means that the authors of policies determine its rules.
	authored bool
}

// mutating looks for webhooks and policies that can change objects before the guard sees them. A
// change of an exception breaks its signature, so it only blocks valid exceptions. A change of an
// object that the guard depends on is an attack: a ConfigMap that a permitted user writes can be
// stored with another content.
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
	var lease coordinationv1.Lease
	if err := k.Client.Get(ctx, types.NamespacedName{Namespace: k.Namespace, Name: leaseName}, &lease); client.IgnoreNotFound(err) != nil {
		k.unknown("leases/"+leaseName, err)
		return
	}
	defer k.unlessFound("mutating webhooks and policies", "none changes exceptions, or objects in "+k.Namespace)()
	for _, m := range mutators {
		if k.asksAbout(m.rules, admissionregistrationv1.Create) || k.asksAbout(m.rules, admissionregistrationv1.Update) {
			k.add(Finding{Outcome: Doubtful, Subject: m.subject, Reason: ReasonMutates,
				Message: "it may change exceptions; the guard rejects a changed one as altered", Hint: "leave policyexceptions out of its rules"})
		}
		k.blocks(m.subject, m.rules)
		if !mayMatch(m.namespaces, namespace.Labels) {
			continue
		}
		const hint = "exclude the namespace with its namespaceSelector; for Kyverno, set config.webhooks.namespaceSelector of its chart"
		if what := m.changes(believed, lease.Labels); len(what) > 0 {
			k.add(Finding{Subject: m.subject, Reason: ReasonMutatesGuard, Message: fmt.Sprintf("it can change %s of %s, which the guard depends on", strings.Join(what, ", "), k.Namespace), Hint: hint})
		} else if what := m.changes(running, nil); len(what) > 0 {
			k.add(Finding{Outcome: Doubtful, Subject: m.subject, Reason: ReasonMutatesGuard, Message: fmt.Sprintf("it can change %s of %s, and thereby its programs", strings.Join(what, ", "), k.Namespace), Hint: hint})
		} else if m.authored {
			k.add(Finding{Outcome: Doubtful, Subject: m.subject, Reason: ReasonMutatesGuard, Message: "everybody who can write a mutating policy can change the ConfigMap and Secret of " + k.Namespace, Hint: hint})
		}
	}
}

// The objects in its namespace that the guard depends on: its configuration and Lease, and its
// workload.
var (
	believed = []schema.GroupResource{{Resource: "configmaps"}, {Resource: "secrets"}, {Group: "coordination.k8s.io", Resource: "leases"}}
	running  = []schema.GroupResource{{Resource: "pods"}, {Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "replicasets"}, {Resource: "services"}}
)

// changes returns the resources of a list that a mutator can change. It applies the object selector
// to the Lease only, whose labels it knows: the guard sets none, and policies/guard/protect rejects
// others who set one. With static files, a user that can set a label of the Lease can also write
// its holder. Match conditions may exclude nothing.
func (m mutator) changes(list []schema.GroupResource, lease labels.Set) []string {
	var names []string
	for _, r := range list {
		if r.Resource == "leases" && !mayMatch(m.objects, lease) {
			continue
		}
		changed := func(o admissionregistrationv1.OperationType) bool {
			return rules.Match(m.rules, rules.Request{Operation: o, Resource: r.WithVersion(""), Namespaced: true})
		}
		if changed(admissionregistrationv1.Create) || changed(admissionregistrationv1.Update) {
			names = append(names, r.Resource)
		}
	}
	return names
}

// mayMatch reports whether a selector matches labels. An invalid selector may match.
func mayMatch(s *metav1.LabelSelector, of labels.Set) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return s == nil || err != nil || selector.Matches(of)
}

// policy is the kind of mutating policies. An API server may not serve it, or only an older
// version.
var policy = schema.GroupKind{Group: admissionregistrationv1.GroupName, Kind: "MutatingAdmissionPolicy"}

// mutators returns the webhooks and policies that change objects.
func (k *checkup) mutators(ctx context.Context) (all []mutator, ok bool) {
	const webhooks, policies = "mutatingwebhookconfigurations", "mutatingadmissionpolicies"
	var list admissionregistrationv1.MutatingWebhookConfigurationList
	if err := k.Client.List(ctx, &list); err != nil {
		k.unknown(webhooks, err)
		return nil, false
	}
	for _, config := range list.Items {
		for _, w := range config.Webhooks {
			all = append(all, mutator{webhooks + "/" + config.Name + " " + w.Name, w.Rules, w.NamespaceSelector, w.ObjectSelector, strings.HasPrefix(config.Name, "kyverno-resource-")})
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
				MatchConstraints admissionregistrationv1.MatchResources
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
		m := mutator{subject: policies + "/" + item.GetName(), namespaces: p.Spec.MatchConstraints.NamespaceSelector, objects: p.Spec.MatchConstraints.ObjectSelector}
		for _, r := range p.Spec.MatchConstraints.ResourceRules {
			m.rules = append(m.rules, r.RuleWithOperations)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b mutator) int { return strings.Compare(a.subject, b.subject) })
	return all, ok
}
