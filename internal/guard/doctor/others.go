package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/rules"
)

// interceptor is a webhook or a policy that changes or rejects objects at admission.
type interceptor struct {
	subject    string
	rules      []admission.RuleWithOperations
	namespaces *metav1.LabelSelector
	objects    *metav1.LabelSelector
	mutates    bool
	// authored means that the authors of policies determine its rules.
	authored bool
}

// others looks for webhooks and policies beside those of the guard. One that changes an exception
// breaks its signature, so it only blocks valid exceptions. One that rejects a deletion keeps an expired
// exception, which Kyverno then still applies. A change of an object that the guard depends on is an
// attack: a ConfigMap that a permitted user writes can be stored with another content.
func (k *checkup) others(ctx context.Context) {
	defer k.unlessFound("other webhooks and policies",
		"none changes exceptions, or what they depend on, and only the guard checks their deletion")()
	all := k.interceptors(ctx)
	spaces := map[string]labels.Set{}
	for _, name := range []string{k.Namespace, k.Kyverno} {
		var namespace corev1.Namespace
		err := k.Client.Get(ctx, types.NamespacedName{Name: name}, &namespace)
		if err == nil {
			spaces[name] = namespace.Labels
		} else if name == k.Namespace || !apierrors.IsNotFound(err) {
			k.unknown("namespaces/"+name, err)
			return
		}
	}
	var lease coordinationv1.Lease
	err := k.Client.Get(ctx, types.NamespacedName{Namespace: k.Namespace, Name: leaseName}, &lease)
	if !k.known("leases/"+leaseName, client.IgnoreNotFound(err)) {
		return
	}
	for _, m := range all {
		if k.asksAbout(m.rules, admission.Delete) {
			k.found(m.subject, "blocks-deletions")
		}
		if !m.mutates {
			continue
		}
		if k.asksAbout(m.rules, admission.Create, admission.Update) {
			k.found(m.subject, "mutates")
		}
		what, outcome := k.changes(m, spaces, lease.Labels)
		if m.authored && mayMatch(m.namespaces, spaces[k.Namespace]) && len(what) == 0 {
			what = []string{"what the authors of mutating policies want, also ConfigMaps and Secrets of " + k.Namespace}
		}
		if len(what) > 0 {
			k.report(m.subject, "mutates-guard", "it can change %s", strings.Join(what, ", ")).Outcome = outcome
		}
	}
}

// changes returns the dependencies that an interceptor can change, and the outcome. It applies the object
// selector to the Lease only, whose labels it knows: the guard sets none, and policies/guard/protect
// rejects others who set one. With static files, a user that can set a label of the Lease can also
// write its holder. Match conditions may exclude nothing.
func (k *checkup) changes(
	m interceptor, spaces map[string]labels.Set, lease labels.Set,
) (names []string, outcome Outcome) {
	outcome = Doubtful
	add := func(list []schema.GroupResource, of string, namespaced bool) {
		for _, r := range list {
			if m.mayChange(r, namespaced) && (r.Resource != "leases" || mayMatch(m.objects, lease)) {
				names = append(names, strings.TrimSuffix(r.String()+" of "+of, " of "))
			}
		}
	}
	if mayMatch(m.namespaces, spaces[k.Namespace]) {
		if add(believed, k.Namespace, true); len(names) > 0 {
			outcome = Wrong
		}
		add(running, k.Namespace, true)
	}
	if spaces[k.Kyverno] != nil && mayMatch(m.namespaces, spaces[k.Kyverno]) {
		add(running, k.Kyverno, true)
	}
	add(clusterWide, "", false)
	add(slices.Concat(events, reports), "", true)
	const most = 5 // named
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return names, outcome
}

// mayChange reports whether an interceptor is asked about the creation or update of a resource. Kyverno may
// add defaults to its own policies, and no webhook is asked about webhooks.
func (m interceptor) mayChange(r schema.GroupResource, namespaced bool) bool {
	name, isWebhook := strings.CutPrefix(m.subject, "mutatingwebhookconfigurations/")
	if isWebhook && r.Group == admission.GroupName ||
		strings.HasPrefix(name, "kyverno-policy-mutating-webhook-cfg ") && strings.HasSuffix(r.Resource, "policies") {
		return false
	}
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	matches := func(o admission.OperationType) bool {
		of := schema.GroupVersionResource{Group: r.Group, Resource: resource}
		return rules.Match(m.rules,
			rules.Request{Operation: o, Resource: of, Subresource: subresource, Namespaced: namespaced})
	}
	return matches(admission.Create) || matches(admission.Update)
}

// mayMatch reports whether a selector matches labels. An invalid selector may match.
func mayMatch(s *metav1.LabelSelector, of labels.Set) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return s == nil || err != nil || selector.Matches(of)
}

// policy is the kind of mutating policies. An API server may not serve it, or only an older
// version.
var policy = schema.GroupKind{Group: admission.GroupName, Kind: "MutatingAdmissionPolicy"}

// interceptors returns the webhooks and policies that the guard does not bring.
func (k *checkup) interceptors(ctx context.Context) (all []interceptor) {
	const mutating, validating = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"
	const changing = "mutatingadmissionpolicies"
	var mutators admission.MutatingWebhookConfigurationList
	k.list(ctx, mutating, &mutators)
	for _, config := range mutators.Items {
		for _, w := range config.Webhooks {
			authored := strings.HasPrefix(config.Name, "kyverno-resource-")
			subject := mutating + "/" + config.Name + " " + w.Name
			all = append(all, interceptor{subject, w.Rules, w.NamespaceSelector, w.ObjectSelector, true, authored})
		}
	}
	var validators admission.ValidatingWebhookConfigurationList
	k.list(ctx, validating, &validators)
	for _, config := range validators.Items {
		for _, w := range config.Webhooks {
			if config.Name != k.Webhook || k.Static != nil { // the guard needs none in the API beside the static one
				all = append(all, interceptor{subject: validating + "/" + config.Name + " " + w.Name, rules: w.Rules})
			}
		}
	}
	for _, p := range k.policies {
		if p.Spec.MatchConstraints != nil && k.delivered[p.Name] == nil { // the function protect compares these
			all = append(all, interceptor{subject: policies + "/" + p.Name, rules: rulesOf(p.Spec.MatchConstraints)})
		}
	}
	mapping, err := k.Client.RESTMapper().RESTMapping(policy)
	if meta.IsNoMatchError(err) || !k.known(changing, err) {
		return all
	}
	k.ifServed(ctx, changing, mapping.GroupVersionKind, func(item *unstructured.Unstructured) {
		var p admission.MutatingAdmissionPolicy
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &p)
		if k.known(changing+"/"+item.GetName(), err) {
			m := cmp.Or(p.Spec.MatchConstraints, &admission.MatchResources{})
			subject := changing + "/" + p.Name
			all = append(all, interceptor{subject, rulesOf(m), m.NamespaceSelector, m.ObjectSelector, true, false})
		}
	})
	return all
}

// rulesOf returns the rules of a policy. Names of objects can only exclude requests.
func rulesOf(m *admission.MatchResources) (rules []admission.RuleWithOperations) {
	for _, r := range m.ResourceRules {
		rules = append(rules, r.RuleWithOperations)
	}
	return rules
}

// The resources that the guard, Kyverno, the API server or this check rely on to keep exceptions, besides
// the signed kinds. Their groups must not be served elsewhere, and nothing else should change their
// objects. policies/guard/protect/definitions.yaml has the same groups, and a test compares them.
var (
	// believed are what the guard acts by, in its namespace: its configuration, certificate and Lease.
	believed = resources("configmaps secrets leases.coordination.k8s.io")
	// running are the programs of the guard and of Kyverno, their rights, and the way to them, in their
	// namespaces.
	running = resources(`pods services serviceaccounts deployments.apps deployments/scale.apps replicasets.apps
		endpointslices.discovery.k8s.io roles.rbac.authorization.k8s.io rolebindings.rbac.authorization.k8s.io`)
	// clusterWide are rights, the limits of requests, what exceptions are, who serves and admits them, and
	// the policies that they exempt from.
	clusterWide = resources(`namespaces
		clusterroles.rbac.authorization.k8s.io clusterrolebindings.rbac.authorization.k8s.io
		tokenreviews.authentication.k8s.io
		selfsubjectaccessreviews.authorization.k8s.io subjectaccessreviews.authorization.k8s.io
		flowschemas.flowcontrol.apiserver.k8s.io prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
		customresourcedefinitions.apiextensions.k8s.io customresourcedefinitions/status.apiextensions.k8s.io
		apiservices.apiregistration.k8s.io
		validatingwebhookconfigurations.admissionregistration.k8s.io
		mutatingwebhookconfigurations.admissionregistration.k8s.io
		clusterpolicies.kyverno.io
		validatingpolicies.policies.kyverno.io imagevalidatingpolicies.policies.kyverno.io
		mutatingpolicies.policies.kyverno.io generatingpolicies.policies.kyverno.io
		deletingpolicies.policies.kyverno.io`)
	events = resources("events.events.k8s.io")
	// reports tell of decisions and have no effect on them. Kyverno's reports-server may serve them.
	reports = resources("reports.openreports.io policyreports.wgpolicyk8s.io")
)

// resources reads resources and subresources with their groups.
func resources(text string) (list []schema.GroupResource) {
	for name := range strings.FieldsSeq(text) {
		list = append(list, schema.ParseGroupResource(name))
	}
	return list
}

// groups returns the API groups of the dependencies, and the outcome if another server answers for them.
func (k *checkup) groups() map[string]Outcome {
	groups := map[string]Outcome{}
	for _, r := range reports {
		groups[r.Group] = Doubtful
	}
	for _, r := range slices.Concat(believed, running, clusterWide, events) {
		groups[r.Group] = Wrong
	}
	for _, gk := range k.Kinds {
		groups[gk.Group] = Wrong
	}
	return groups
}
