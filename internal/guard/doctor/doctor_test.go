package doctor_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/internal/guard/doctor"
	"github.com/polex-dev/polex/internal/guard/static"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var now = time.Now()

// webhook returns a correct registration of a guard.
func webhook(g *server) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "polex-guard"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:          "guard.polex.dev",
			ClientConfig:  admissionregistrationv1.WebhookClientConfig{URL: new("https://" + g.address + "/admit"), CABundle: g.authority},
			Rules:         about(rules("policyexceptions", "policyexceptions/*"), "CREATE", "UPDATE", "CONNECT"),
			FailurePolicy: new(admissionregistrationv1.Fail), MatchPolicy: new(admissionregistrationv1.Exact),
			SideEffects: new(admissionregistrationv1.SideEffectClassNoneOnDryRun), TimeoutSeconds: new(int32(10)),
		}, {
			Name:          "deletions.guard.polex.dev",
			ClientConfig:  admissionregistrationv1.WebhookClientConfig{URL: new("https://" + g.address + "/deleted?a=b"), CABundle: g.authority},
			Rules:         about(rules("policyexceptions"), "DELETE"),
			FailurePolicy: new(admissionregistrationv1.Ignore), MatchPolicy: new(admissionregistrationv1.Exact),
			SideEffects: new(admissionregistrationv1.SideEffectClassNoneOnDryRun), TimeoutSeconds: new(int32(2)),
		}},
	}
}

// about returns the rules with these operations.
func about(rules []admissionregistrationv1.RuleWithOperations, operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
	rules[0].Operations = operations
	return rules
}

func rules(resources ...string) []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"*"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"kyverno.io", "policies.kyverno.io"}, APIVersions: []string{"*"}, Resources: resources, Scope: new(admissionregistrationv1.AllScopes)},
	}}
}

// mutators returns a webhook for a resource in every namespace except those of the guard and Kyverno.
func mutators(resource string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.MutatingWebhookConfigurationList {
	r := rules(resource)
	r[0].Operations, r[0].APIGroups = operations, []string{"*"}
	return admissionregistrationv1.MutatingWebhookConfigurationList{Items: []admissionregistrationv1.MutatingWebhookConfiguration{{
		ObjectMeta: metav1.ObjectMeta{Name: "labels"}, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "add.labels", Rules: r, NamespaceSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "kubernetes.io/metadata.name", Operator: "NotIn", Values: []string{"polex-system", "kyverno"}}},
		}}},
	}}}
}

// guardMutator returns a webhook for a resource in every namespace.
func guardMutator(group, resource string) admissionregistrationv1.MutatingWebhookConfigurationList {
	list := mutators(resource, "CREATE", "UPDATE")
	list.Items[0].Webhooks[0].Rules[0].APIGroups, list.Items[0].Webhooks[0].NamespaceSelector = []string{group}, nil
	return list
}

// leasesOf returns a webhook for Leases with a label, as Kyverno has one for its own.
func leasesOf(app string) admissionregistrationv1.MutatingWebhookConfigurationList {
	list := guardMutator("coordination.k8s.io", "leases")
	list.Items[0].Webhooks[0].ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	return list
}

// changingPolicy returns a policy for a resource in every namespace.
func changingPolicy(group, resource string) admissionregistrationv1.MutatingAdmissionPolicyList {
	p := admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "labels"}}
	p.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{}
	for _, r := range guardMutator(group, resource).Items[0].Webhooks[0].Rules {
		p.Spec.MatchConstraints.ResourceRules = append(p.Spec.MatchConstraints.ResourceRules, admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: r})
	}
	return admissionregistrationv1.MutatingAdmissionPolicyList{Items: []admissionregistrationv1.MutatingAdmissionPolicy{p}}
}

type (
	limits  = admissionregistrationv1.ValidatingAdmissionPolicySpec
	binding = admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec
)

const protectFolder = "../../../policies/guard/protect"

// protected returns the policies that protect a guard, and their bindings.
func protected() (map[string]limits, map[string]binding) {
	policies, bindings := map[string]limits{}, map[string]binding{}
	delivered, err := doctor.PoliciesIn(os.DirFS(protectFolder))
	if err != nil {
		panic(err)
	}
	for name, policy := range delivered {
		policies[name] = *policy
		bindings[name] = binding{PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{"Deny", "Audit"}, MatchResources: &admissionregistrationv1.MatchResources{}}
	}
	return policies, bindings
}

// staticFiles moves the webhook and the policies of protect from the API to static files, and changes something.
func staticFiles(change func(*api, *doctor.Config)) func(*api, *doctor.Config) {
	return func(a *api, c *doctor.Config) {
		a.metrics = metricsOf("sha256:a", "sha256:b")
		c.Static = &static.Set{Webhooks: []admissionregistrationv1.ValidatingWebhookConfiguration{*a.validating}, Hashes: map[string]string{static.WebhookPlugin: "sha256:a", static.PolicyPlugin: "sha256:b"}}
		c.Static.Webhooks[0].Name += static.Suffix
		a.validating, c.Servers = nil, []string{c.Host}
		for _, name := range []string{"polex-admission", "polex-guard-cluster", "polex-guard-definitions"} {
			name += static.Suffix
			p := admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: a.policies["polex-guard-cluster"]}
			b := admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: a.bindings["polex-guard-cluster"]}
			b.Spec.PolicyName = name
			c.Static.Policies, c.Static.Bindings = append(c.Static.Policies, p), append(c.Static.Bindings, b)
		}
		if change != nil {
			change(a, c)
		}
	}
}

// metricsOf returns the metrics of an API server with the hashes of the static files.
func metricsOf(webhooks, policies string) string {
	text := "# TYPE apiserver_manifest_admission_config_controller_last_config_info gauge\n"
	for plugin, hash := range map[string]string{static.WebhookPlugin: webhooks, static.PolicyPlugin: policies} {
		text += fmt.Sprintf("apiserver_manifest_admission_config_controller_last_config_info{apiserver_id_hash=\"sha256:0\",hash=%q,plugin=%q} 1\n", hash, plugin)
	}
	return text
}

// reloaded returns the metric of a reload of policies.
func reloaded(status, at string) string {
	return fmt.Sprintf("apiserver_manifest_admission_config_controller_automatic_reload_last_timestamp_seconds{apiserver_id_hash=\"sha256:0\",plugin=%q,status=%q} %s\n", static.PolicyPlugin, status, at)
}

// name changes a list of users or groups of a policy, and named those of all policies.
func name(p *limits, list, names string) {
	p.Variables = slices.Clone(p.Variables)
	for i := range p.Variables {
		if p.Variables[i].Name == list {
			p.Variables[i].Expression = names
		}
	}
}

func named(list, names string) func(*api, *doctor.Config) {
	return func(a *api, _ *doctor.Config) {
		for of, p := range a.policies {
			name(&p, list, names)
			a.policies[of] = p
		}
	}
}

// held changes the Lease.
func held(change func(*coordinationv1.LeaseSpec)) func(*api, *doctor.Config) {
	return func(a *api, _ *doctor.Config) { change(&a.lease.Spec) }
}

// bind changes a binding, and limit a policy.
func bind(name string, change func(*binding)) func(*api, *doctor.Config) {
	return func(a *api, _ *doctor.Config) {
		b := a.bindings[name]
		change(&b)
		a.bindings[name] = b
	}
}

func limit(name string, change func(*limits)) func(*api, *doctor.Config) {
	return func(a *api, _ *doctor.Config) {
		p := a.policies[name]
		change(&p)
		a.policies[name] = p
	}
}

// kyverno returns an admission controller of Kyverno with these flags.
func kyverno(flags ...string) appsv1.DeploymentList {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "kyverno-admission-controller", Namespace: "kyverno", Labels: map[string]string{"app.kubernetes.io/component": "admission-controller"}}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "kyverno", Args: flags}}
	d.Spec.Template.Spec.ServiceAccountName = "admission"
	return appsv1.DeploymentList{Items: []appsv1.Deployment{d}}
}

// TestDoctor: a correct installation passes. Every fault has its own reason only, and every reason has a fault.
func TestDoctor(t *testing.T) {
	good := serve(t, certificate{})
	type webhookChange = func(*admissionregistrationv1.ValidatingWebhook)
	met := map[string]bool{}
	for name, tc := range map[string]struct {
		webhook webhookChange
		change  func(*api, *doctor.Config)
		want    []string // the findings that are not fine, as "outcome reason"
	}{
		"all is well":                     {},
		"several webhooks, one per group": {change: func(a *api, _ *doctor.Config) { split(a.validating) }},
		"no rule says a scope":            {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].Scope = nil }},
		"a Service": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { asService(w, "/admit") }, change: func(a *api, c *doctor.Config) {
			asService(&a.validating.Webhooks[1], "/deleted")
			c.Dial = good.dialAs("polex-guard.polex-system.svc:8443")
		}},
		"a Service elsewhere": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			asService(w, "/admit")
			w.ClientConfig.Service.Namespace = "team-a"
		}, change: func(_ *api, c *doctor.Config) { c.Dial = good.dialAs("") }, want: []string{"unknown undecided", "wrong asks-elsewhere"}},
		"another host": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ClientConfig.URL = new("https://allow.example/admit")
		},
			change: func(_ *api, c *doctor.Config) { c.Dial = good.dialAs("") }, want: []string{"doubtful asks-elsewhere", "unknown undecided"}},
		"a selector of everything": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { w.NamespaceSelector = &metav1.LabelSelector{} }},

		"no webhook":             {change: func(a *api, _ *doctor.Config) { a.validating = nil }, want: []string{"wrong no-webhook"}},
		"a registration of none": {change: func(a *api, _ *doctor.Config) { a.validating.Webhooks = nil }, want: []string{"wrong no-webhook"}},
		"a version":              {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].APIVersions = []string{"v2", "v1"} }, want: []string{"wrong version-not-asked"}},
		"a group":                {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].APIGroups = []string{"kyverno.io"} }, want: []string{"wrong version-not-asked"}},
		"an update": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules[0].Operations = []admissionregistrationv1.OperationType{"CREATE"}
		}, want: []string{"wrong version-not-asked"}},
		"a delete":              {change: func(a *api, _ *doctor.Config) { a.validating.Webhooks = a.validating.Webhooks[:1] }, want: []string{"doubtful delete-not-asked"}},
		"a delete in a version": {change: func(a *api, _ *doctor.Config) { a.validating.Webhooks[1].Rules[0].APIVersions = []string{"v1"} }, want: []string{"doubtful delete-not-asked"}},
		"deletions fail closed": {change: func(a *api, _ *doctor.Config) {
			a.validating.Webhooks[1].FailurePolicy = new(admissionregistrationv1.Fail)
		}, want: []string{"doubtful deletes-fail-closed"}},
		"deletions say not how": {change: func(a *api, _ *doctor.Config) { a.validating.Webhooks[1].FailurePolicy = nil }, want: []string{"doubtful deletes-fail-closed"}},
		"one for everything": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { about(w.Rules, "*") }, change: func(a *api, _ *doctor.Config) { a.validating.Webhooks = a.validating.Webhooks[:1] },
			want: []string{"doubtful deletes-fail-closed"}},
		"creations where deletions are": {change: func(a *api, _ *doctor.Config) {
			w := a.validating.Webhooks
			w[1].Rules, w[1].FailurePolicy, a.validating.Webhooks = about(rules("policyexceptions"), "*"), new(admissionregistrationv1.Fail), w[1:]
		}, want: []string{"doubtful deletes-fail-closed", "wrong version-not-asked"}},
		"deletions elsewhere": {change: func(a *api, _ *doctor.Config) {
			a.validating.Webhooks[1].ClientConfig.URL = a.validating.Webhooks[0].ClientConfig.URL
		}},
		"another scope": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules[0].Scope = new(admissionregistrationv1.ClusterScope)
		}, want: []string{"wrong version-not-asked"}},
		"another resource": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules[0].Resources = []string{"policyexceptions/status"}
		}, want: []string{"wrong version-not-asked"}},
		"no subresource": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules[0].Resources = []string{"policyexceptions"}
		}, want: []string{"wrong version-not-asked"}},
		"the resource with its subresources": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.Rules[0].Resources = []string{"policyexceptions/*"}
		}},
		"deletions at another Service": {change: func(a *api, c *doctor.Config) {
			asService(&a.validating.Webhooks[1], "/deleted")
			a.validating.Webhooks[1].ClientConfig.Service.Namespace, c.Dial = "team-a", good.dialAs("")
		}, want: []string{"unknown undecided", "wrong asks-elsewhere"}},
		"namespaces": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, want: []string{"wrong namespace-hole"}},
		"objects": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Exists"}}}
		}, want: []string{"wrong object-hole"}},
		"requests": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "a", Expression: "true"}}
		}, want: []string{"wrong condition-hole"}},
		"fails open": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.FailurePolicy = new(admissionregistrationv1.Ignore)
		}, want: []string{"wrong fails-open"}},
		"says not how":    {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { w.FailurePolicy = nil }, want: []string{"wrong fails-open"}},
		"is impatient":    {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { w.TimeoutSeconds = new(int32(5)) }, want: []string{"wrong timeout-too-short"}},
		"a patient guard": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { w.TimeoutSeconds = nil }, change: func(_ *api, c *doctor.Config) { c.Deadline = 10 * time.Second }, want: []string{"wrong timeout-too-short"}},
		"has side effects": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.SideEffects = new(admissionregistrationv1.SideEffectClassSome)
		}, want: []string{"wrong side-effects"}},
		"may have some": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { w.SideEffects = nil }, want: []string{"wrong side-effects"}},
		"converts": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchPolicy = new(admissionregistrationv1.Equivalent)
		}, want: []string{"doubtful converts"}},
		"no bundle": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) { w.ClientConfig.CABundle = nil }, want: []string{"wrong bad-ca-bundle"}},
		"another authority": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ClientConfig.CABundle = serve(t, certificate{}).authority
		}, want: []string{"wrong bad-certificate"}},
		"another name": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			serve(t, certificate{name: "elsewhere.svc"}).asked(w)
		}, want: []string{"wrong bad-certificate"}},
		"ended": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			serve(t, certificate{lasts: -time.Minute}).asked(w)
		}, want: []string{"wrong bad-certificate"}},
		"ends soon": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			serve(t, certificate{lasts: 6 * 24 * time.Hour}).asked(w)
		}, want: []string{"wrong certificate-ends"}},
		"does not answer": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ClientConfig.URL = new("https://" + closed(t) + "/admit")
		}, want: []string{"unknown undecided"}},

		"changed on the way":                               {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("*", "UPDATE") }, want: []string{"doubtful mutates", "doubtful mutates-guard"}},
		"all changed on the way":                           {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("*/*", "*") }, want: []string{"doubtful blocks-deletions", "doubtful mutates", "doubtful mutates-guard"}},
		"others are changed":                               {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("pods", "*") }},
		"changed when they go":                             {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("*", "DELETE") }, want: []string{"doubtful blocks-deletions"}},
		"nobody says who changes":                          {change: func(a *api, _ *doctor.Config) { a.broken["mutatingwebhookconfigurations"] = true }, want: []string{"unknown undecided"}},
		"the guard's configuration is changed on its way":  {change: func(a *api, _ *doctor.Config) { a.mutating = guardMutator("", "configmaps") }, want: []string{"wrong mutates-guard"}},
		"the guard's Lease, by a wildcard":                 {change: func(a *api, _ *doctor.Config) { a.mutating = guardMutator("coordination.k8s.io", "*") }, want: []string{"wrong mutates-guard"}},
		"the guard's Pods":                                 {change: func(a *api, _ *doctor.Config) { a.mutating = guardMutator("", "pods") }, want: []string{"doubtful mutates-guard"}},
		"configurations of others":                         {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("configmaps", "*") }},
		"the guard's configuration, with its subresources": {change: func(a *api, _ *doctor.Config) { a.mutating = guardMutator("", "configmaps/*") }, want: []string{"wrong mutates-guard"}},
		"the guard's Secret, in every version": {change: func(a *api, _ *doctor.Config) {
			a.mutating = guardMutator("", "secrets")
			a.mutating.Items[0].Webhooks[0].Rules[0].APIVersions = []string{"v9"}
		}, want: []string{"wrong mutates-guard"}},
		"subresources of everything":    {change: func(a *api, _ *doctor.Config) { a.mutating = guardMutator("*", "*/log") }},
		"the replicas of everything":    {change: func(a *api, _ *doctor.Config) { a.mutating = guardMutator("*", "*/scale") }, want: []string{"doubtful mutates-guard"}},
		"exceptions, with subresources": {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("policyexceptions/*", "*") }, want: []string{"doubtful blocks-deletions", "doubtful mutates"}},
		"Leases of Kyverno":             {change: func(a *api, _ *doctor.Config) { a.mutating = leasesOf("kyverno") }},
		"Leases of Kyverno, as the guard's is labelled": {change: func(a *api, _ *doctor.Config) {
			a.mutating, a.lease.Labels = leasesOf("kyverno"), map[string]string{"app": "kyverno"}
		}, want: []string{"wrong mutates-guard"}},
		"Leases without a label": {change: func(a *api, _ *doctor.Config) {
			a.mutating = leasesOf("")
			a.mutating.Items[0].Webhooks[0].ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "DoesNotExist"}}}
		}, want: []string{"wrong mutates-guard"}},
		"labelled configurations": {change: func(a *api, _ *doctor.Config) {
			a.mutating = guardMutator("", "configmaps")
			a.mutating.Items[0].Webhooks[0].ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kyverno"}}
		}, want: []string{"wrong mutates-guard"}},
		"nobody says how its Lease is labelled": {change: func(a *api, _ *doctor.Config) {
			a.broken["leases/polex-guard"] = true
		}, want: []string{"unknown undecided"}},
		"the definitions, in no namespace": {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("customresourcedefinitions/*", "UPDATE") }, want: []string{"doubtful mutates-guard"}},
		"the status of definitions":        {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("customresourcedefinitions/status", "UPDATE") }, want: []string{"doubtful mutates-guard"}},
		"another part of definitions":      {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("customresourcedefinitions/scale", "UPDATE") }},
		"the rights of all":                {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("clusterroles", "CREATE") }, want: []string{"doubtful mutates-guard"}},
		"what may be asked":                {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("subjectaccessreviews", "CREATE") }, want: []string{"doubtful mutates-guard"}},
		"the policies":                     {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("clusterpolicies", "CREATE") }, want: []string{"doubtful mutates-guard"}},
		"the policies, as Kyverno does": {change: func(a *api, _ *doctor.Config) {
			a.mutating = mutators("*policies", "CREATE")
			a.mutating.Items[0].Name = "kyverno-policy-mutating-webhook-cfg"
			a.mutating.Items[0].Webhooks[0].Rules[0].Resources = []string{"clusterpolicies/*", "validatingpolicies"}
		}},
		"definitions, as Kyverno does not": {change: func(a *api, _ *doctor.Config) {
			a.mutating = mutators("customresourcedefinitions", "CREATE")
			a.mutating.Items[0].Name = "kyverno-policy-mutating-webhook-cfg"
		}, want: []string{"doubtful mutates-guard"}},
		"webhooks by a webhook": {change: func(a *api, _ *doctor.Config) { a.mutating = mutators("validatingwebhookconfigurations", "CREATE") }},
		"webhooks by a policy": {change: func(a *api, _ *doctor.Config) {
			a.changing = changingPolicy("admissionregistration.k8s.io", "validatingwebhookconfigurations")
		}, want: []string{"doubtful mutates-guard"}},
		"the way to Kyverno": {change: func(a *api, _ *doctor.Config) {
			a.mutating = guardMutator("discovery.k8s.io", "endpointslices")
			a.mutating.Items[0].Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "kyverno"}}
		}, want: []string{"doubtful mutates-guard"}},
		"where there is no Kyverno": {change: func(a *api, _ *doctor.Config) {
			a.mutating = guardMutator("discovery.k8s.io", "endpointslices")
			a.mutating.Items[0].Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "kyverno"}}
			a.gone = map[string]bool{"kyverno": true}
		}},
		"nobody says how Kyverno's namespace is labelled": {change: func(a *api, _ *doctor.Config) { a.broken["kyverno"] = true }, want: []string{"unknown undecided"}},
		"where it is asked for": {change: func(a *api, _ *doctor.Config) {
			a.mutating = guardMutator("", "pods")
			a.mutating.Items[0].Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"inject": "yes"}}
		}},
		"by what authors of Kyverno's policies write": {change: func(a *api, _ *doctor.Config) {
			a.mutating = guardMutator("example.com", "things")
			a.mutating.Items[0].Name = "kyverno-resource-mutating-webhook-cfg"
		}, want: []string{"doubtful mutates-guard"}},
		"by a policy of the API server's":            {change: func(a *api, _ *doctor.Config) { a.changing = changingPolicy("", "secrets") }, want: []string{"wrong mutates-guard"}},
		"exceptions by a policy of the API server's": {change: func(a *api, _ *doctor.Config) { a.changing = changingPolicy("kyverno.io", "policyexceptions") }, want: []string{"doubtful mutates"}},
		"nobody says which policies change things":   {change: func(a *api, _ *doctor.Config) { a.broken["mutatingadmissionpolicies"] = true }, want: []string{"unknown undecided"}},
		"nobody says how its namespace is labelled":  {change: func(a *api, _ *doctor.Config) { a.broken["polex-system"] = true }, want: []string{"unknown undecided"}},

		"converted by a webhook": {change: func(a *api, _ *doctor.Config) {
			a.conversion = object{"strategy": "Webhook", "webhook": object{"clientConfig": object{"url": "https://evil"}}}
		}, want: []string{"wrong conversion-webhook"}},
		"converted by who knows what":      {change: func(a *api, _ *doctor.Config) { a.conversion = object{"strategy": 1} }, want: []string{"wrong conversion-webhook"}},
		"nobody says what converts":        {change: func(a *api, _ *doctor.Config) { a.broken["policyexceptions.kyverno.io"] = true }, want: []string{"unknown undecided"}},
		"under another name":               {change: func(a *api, _ *doctor.Config) { a.accepted = "things" }, want: []string{"wrong conversion-webhook"}},
		"no version is served":             {change: func(_ *api, c *doctor.Config) { c.Client = unserved{c.Client} }, want: []string{"unknown undecided"}},
		"no definitions":                   {change: func(a *api, _ *doctor.Config) { a.conversion = nil }, want: []string{"doubtful version-not-served"}},
		"no version that Kyverno reads":    {change: func(a *api, _ *doctor.Config) { a.unserved = "v2" }, want: []string{"wrong version-not-served"}},
		"nor of the other group":           {change: func(a *api, _ *doctor.Config) { a.unserved = "v1beta1" }, want: []string{"wrong version-not-served"}},
		"a version that it does not read":  {change: func(a *api, _ *doctor.Config) { a.unserved = "v1" }},
		"exceptions are served elsewhere":  {change: func(a *api, _ *doctor.Config) { a.services[0]["service"] = object{"namespace": "a", "name": "b"} }, want: []string{"wrong served-elsewhere"}},
		"webhooks are served elsewhere":    {change: func(a *api, _ *doctor.Config) { a.services[1]["group"] = "admissionregistration.k8s.io" }, want: []string{"wrong served-elsewhere"}},
		"API servers are served elsewhere": {change: func(a *api, _ *doctor.Config) { a.services[1]["group"] = "discovery.k8s.io" }, want: []string{"wrong served-elsewhere"}},
		"limits are served elsewhere":      {change: func(a *api, _ *doctor.Config) { a.services[1]["group"] = "flowcontrol.apiserver.k8s.io" }, want: []string{"wrong served-elsewhere"}},
		"Events are served elsewhere":      {change: func(a *api, _ *doctor.Config) { a.services[1]["group"] = "events.k8s.io" }, want: []string{"wrong served-elsewhere"}},
		"reports are served elsewhere":     {change: func(a *api, _ *doctor.Config) { a.services[1]["group"] = "wgpolicyk8s.io" }, want: []string{"doubtful served-elsewhere"}},
		"nobody says who serves":           {change: func(a *api, _ *doctor.Config) { a.broken["apiservices"] = true }, want: []string{"unknown undecided"}},

		"nothing protects it":          {change: func(a *api, _ *doctor.Config) { a.policies, a.bindings = nil, nil }, want: []string{"doubtful not-protected"}},
		"a policy of protect is gone":  {change: func(a *api, _ *doctor.Config) { delete(a.policies, "polex-guard-cluster") }, want: []string{"wrong protection-hole"}},
		"a binding of protect is gone": {change: func(a *api, _ *doctor.Config) { delete(a.bindings, "polex-guard-namespace") }, want: []string{"wrong protection-hole"}},
		"all of its policies are gone": {change: func(a *api, _ *doctor.Config) { a.policies = nil }, want: []string{"wrong protection-hole"}},
		"one only warns":               {change: bind("polex-guard-kyverno", func(b *binding) { b.ValidationActions = []admissionregistrationv1.ValidationAction{"Warn", "Audit"} }), want: []string{"wrong protection-hole"}},
		"one leaves namespaces out": {change: bind("polex-guard-kyverno", func(b *binding) {
			b.MatchResources = &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
		}), want: []string{"wrong protection-hole"}},
		"one leaves resources out": {change: bind("polex-guard-kyverno", func(b *binding) {
			b.MatchResources = &admissionregistrationv1.MatchResources{ExcludeResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{}}}
		}), want: []string{"wrong protection-hole"}},
		"one waits for a parameter": {change: bind("polex-guard-kyverno", func(b *binding) { b.ParamRef = &admissionregistrationv1.ParamRef{} }), want: []string{"wrong protection-hole"}},
		"one fails open":            {change: limit("polex-guard-cluster", func(p *limits) { p.FailurePolicy = new(admissionregistrationv1.Ignore) }), want: []string{"wrong protection-hole"}},
		"one that matches nothing": {change: limit("polex-guard-mutators", func(p *limits) {
			p.MatchConditions = append(p.MatchConditions, admissionregistrationv1.MatchCondition{Name: "never", Expression: "false"})
		}), want: []string{"doubtful protection-hole"}},
		"one that permits everybody": {change: limit("polex-guard-namespace", func(p *limits) { p.Validations[0].Expression = "true" }), want: []string{"doubtful protection-hole"}},
		"one for fewer resources": {change: limit("polex-guard-definitions", func(p *limits) {
			p.MatchConstraints.ResourceRules = p.MatchConstraints.ResourceRules[1:]
		}), want: []string{"doubtful protection-hole"}},
		"one as an API server stores it, with administrators": {change: limit("polex-guard-namespace", func(p *limits) {
			m := p.MatchConstraints
			p.MatchConditions[0].Expression = strings.ReplaceAll(p.MatchConditions[0].Expression, " ", "\n\n ")
			m.MatchPolicy, m.ObjectSelector = new(admissionregistrationv1.Equivalent), &metav1.LabelSelector{}
			m.ResourceRules[0].Scope, m.ExcludeResourceRules[0].Scope = new(admissionregistrationv1.AllScopes), new(admissionregistrationv1.AllScopes)
			p.Variables[0].Expression = "[ ]"
		})},
		"everybody is an administrator":         {change: named("groups", "['platform-admins', 'system:authenticated']"), want: []string{"wrong protection-hole"}},
		"every ServiceAccount is one":           {change: named("groups", `["system:serviceaccounts"]`), want: []string{"wrong protection-hole"}},
		"every node is one":                     {change: named("groups", "['system:nodes']"), want: []string{"wrong protection-hole"}},
		"who has no name is one":                {change: named("users", "['system:anonymous']"), want: []string{"wrong protection-hole"}},
		"who asks is one":                       {change: named("users", "[request.userInfo.username]"), want: []string{"wrong protection-hole"}},
		"a computed list":                       {change: named("users", "['a'] + ['b']"), want: []string{"wrong protection-hole"}},
		"a list for another cluster":            {change: named("groups", "request.userInfo.groups"), want: []string{"wrong protection-hole"}},
		"an escaped name":                       {change: named("groups", `['system:authenticate\u0064']`), want: []string{"wrong protection-hole"}},
		"everybody may write certificates":      {change: named("certifiers", "['system:anonymous']"), want: []string{"wrong protection-hole"}},
		"named administrators":                  {change: named("users", `[ 'a:b',"c@d" , 'e' ]`)},
		"administrators of one of the policies": {change: limit("polex-guard-cluster", func(p *limits) { name(p, "users", "['jane']") }), want: []string{"doubtful protection-hole"}},
		"certifiers of one of the policies":     {change: limit("polex-guard-cluster", func(p *limits) { name(p, "certifiers", "['jane']") }), want: []string{"doubtful protection-hole"}},
		"one validates nothing":                 {change: limit("polex-guard-cluster", func(p *limits) { p.Validations = nil }), want: []string{"wrong protection-hole"}},
		"writers are bound to by nobody":        {change: func(a *api, _ *doctor.Config) { a.policies["polex-writers"] = a.policies["polex-guard-cluster"] }, want: []string{"wrong protection-hole"}},
		"another webhook may refuse deletions": {change: func(a *api, _ *doctor.Config) {
			a.others = []admissionregistrationv1.ValidatingWebhookConfiguration{*webhook(good)}
			a.others[0].Name = "keeps"
		}, want: []string{"doubtful blocks-deletions"}},
		"another webhook is asked about others": {change: func(a *api, _ *doctor.Config) {
			a.others = []admissionregistrationv1.ValidatingWebhookConfiguration{*webhook(good)}
			a.others[0].Name, a.others[0].Webhooks[1].Rules[0].Resources = "keeps", []string{"pods"}
		}},
		"another policy may refuse them, by a pattern": {change: func(a *api, _ *doctor.Config) {
			rules := []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: about(rules("policyexceptions/*"), "DELETE")[0]}}
			a.policies["keeps"] = limits{MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: rules}}
		}, want: []string{"doubtful blocks-deletions"}},
		"another policy may refuse deletions": {change: func(a *api, _ *doctor.Config) {
			rules := []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: about(rules("*"), "DELETE")[0]}}
			a.policies["keeps"] = limits{MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: rules}}
		}, want: []string{"doubtful blocks-deletions"}},
		"another policy may refuse deletions, named like one of protect": {change: func(a *api, _ *doctor.Config) {
			rules := []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: about(rules("*"), "DELETE")[0]}}
			a.policies["polex-keeps"] = limits{MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: rules}}
		}, want: []string{"doubtful blocks-deletions", "wrong protection-hole"}},
		"finalizers keep a deleted exception": {change: func(a *api, _ *doctor.Config) {
			a.exceptions = []object{{"metadata": object{"name": "a", "namespace": "x", "deletionTimestamp": now.Add(-2 * time.Minute).UTC().Format(time.RFC3339), "finalizers": []string{"a/b"}}}}
		}, want: []string{"doubtful deletion-held"}},
		"exceptions outlast their deletion": {change: func(a *api, _ *doctor.Config) {
			a.exceptions = []object{naming("ValidatingPolicy"), naming("NamespacedValidatingPolicy"), naming("NamespacedMutatingPolicy")}
		}, want: []string{"doubtful kept-by-kyverno"}},
		"exceptions end with their deletion": {change: func(a *api, _ *doctor.Config) {
			a.exceptions = []object{naming("ValidatingPolicy"), naming("NamespacedGeneratingPolicy")}
		}},
		"an exception is being deleted": {change: func(a *api, _ *doctor.Config) {
			a.exceptions = []object{{"metadata": object{"name": "a", "namespace": "x", "deletionTimestamp": now.Add(-time.Second).UTC().Format(time.RFC3339), "finalizers": []string{"a/b"}}}}
		}},
		"one stored exception cannot be decoded": {change: func(a *api, _ *doctor.Config) { a.broken["policyexceptions"] = true }, want: []string{"unknown undecided"}},
		"nobody says which webhooks there are":   {change: func(a *api, _ *doctor.Config) { a.broken["validatingwebhookconfigurations"] = true }, want: []string{"unknown undecided"}},
		"another policy is nobody's":             {change: func(a *api, _ *doctor.Config) { a.policies["other"] = limits{} }},
		"nobody says what protects":              {change: func(a *api, _ *doctor.Config) { a.broken["validatingadmissionpolicies"] = true }, want: []string{"unknown undecided"}},
		"nobody says what binds":                 {change: func(a *api, _ *doctor.Config) { a.broken["validatingadmissionpolicybindings"] = true }, want: []string{"unknown undecided"}},
		"static files":                           {change: staticFiles(nil)},
		"static files, and no policies in the API": {change: func(a *api, c *doctor.Config) {
			staticFiles(nil)(a, c)
			a.policies, a.bindings = nil, nil
		}},
		"static files, by the endpoints of the API servers": {change: func(a *api, c *doctor.Config) {
			staticFiles(nil)(a, c)
			server := httptest.NewTLSServer(a)
			t.Cleanup(server.Close)
			a.endpoint, c.HTTP, c.Servers = server.Listener.Addr().String(), server.Client(), nil
		}},
		"static files beside an earlier webhook": {change: func(a *api, c *doctor.Config) {
			earlier := a.validating
			staticFiles(nil)(a, c)
			a.validating = earlier
		}, want: []string{"doubtful blocks-deletions"}},
		"a hole in static files": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchConditions = make([]admissionregistrationv1.MatchCondition, 1)
		}, change: staticFiles(nil), want: []string{"wrong condition-hole"}},
		"no webhook in static files": {change: staticFiles(func(_ *api, c *doctor.Config) { c.Static.Webhooks = nil }), want: []string{"wrong no-webhook"}},
		"static files without a policy": {change: staticFiles(func(_ *api, c *doctor.Config) {
			c.Static.Policies = c.Static.Policies[1:]
		}), want: []string{"wrong protection-hole"}},
		"static files without a binding": {change: staticFiles(func(_ *api, c *doctor.Config) { c.Static.Bindings = c.Static.Bindings[1:] }), want: []string{"wrong protection-hole"}},
		"a static policy that fails open": {change: staticFiles(func(_ *api, c *doctor.Config) {
			c.Static.Policies[0].Spec.FailurePolicy = new(admissionregistrationv1.Ignore)
		}), want: []string{"wrong protection-hole"}},
		"other static files":          {change: staticFiles(func(_ *api, c *doctor.Config) { c.Static.Hashes[static.PolicyPlugin] = "sha256:1" }), want: []string{"wrong static-not-loaded"}},
		"no static files are loaded":  {change: staticFiles(func(a *api, _ *doctor.Config) { a.metrics = "up 1\n" }), want: []string{"wrong static-not-loaded"}},
		"a plugin has loaded nothing": {change: staticFiles(func(a *api, _ *doctor.Config) { a.metrics = metricsOf("", "sha256:b") }), want: []string{"wrong static-not-loaded"}},
		"static files cannot be loaded again": {change: staticFiles(func(a *api, _ *doctor.Config) {
			a.metrics += reloaded("failure", "1.7e+09")
		}), want: []string{"doubtful static-reload-failed"}},
		"static files were loaded again": {change: staticFiles(func(a *api, _ *doctor.Config) {
			a.metrics += reloaded("failure", "1.7e+09") + reloaded("success", "1.8e+09")
		})},
		"nobody says which static files are loaded": {change: staticFiles(func(a *api, _ *doctor.Config) { a.broken["metrics"] = true }), want: []string{"unknown undecided"}},
		"one of two API servers":                    {change: staticFiles(func(_ *api, c *doctor.Config) { c.Servers = append(c.Servers, "http://"+closed(t)) }), want: []string{"unknown undecided"}},
		"nobody says which API servers there are":   {change: staticFiles(func(_ *api, c *doctor.Config) { c.Servers = nil }), want: []string{"unknown undecided"}},
		"the CA in static files ends soon": {webhook: func(w *admissionregistrationv1.ValidatingWebhook) {
			serve(t, certificate{lasts: 30 * 24 * time.Hour}).asked(w)
		}, change: staticFiles(nil), want: []string{"wrong certificate-ends"}},

		"no Kyverno": {change: func(a *api, _ *doctor.Config) { a.kyverno.Items = nil }, want: []string{"doubtful exceptions-disabled"}},
		"Kyverno heeds none": {change: func(a *api, _ *doctor.Config) {
			a.kyverno = kyverno("--enablePolicyException=false", "--exceptionNamespace=a")
		}, want: []string{"doubtful exceptions-disabled"}},
		"exceptions for Kyverno's namespace": {change: func(_ *api, c *doctor.Config) { c.Guards = func(string) bool { return false } }, want: []string{"doubtful namespace-not-guarded"}},
		"Kyverno is told nothing":            {change: func(a *api, _ *doctor.Config) { a.kyverno = kyverno() }, want: []string{"doubtful exceptions-disabled", "doubtful exceptions-from-everywhere"}},
		"Kyverno heeds all": {change: func(a *api, _ *doctor.Config) {
			a.kyverno = kyverno("--enablePolicyException", "--exceptionNamespace", "*")
		}, want: []string{"doubtful exceptions-from-everywhere"}},
		"nobody knows of Kyverno":          {change: func(a *api, _ *doctor.Config) { a.broken["deployments"] = true }, want: []string{"unknown undecided"}},
		"may not delete":                   {change: func(a *api, _ *doctor.Config) { a.denied["delete policyexceptions"] = true }, want: []string{"wrong not-permitted"}},
		"may not hold the lease":           {change: func(a *api, _ *doctor.Config) { a.denied["update leases"] = true }, want: []string{"wrong not-permitted"}},
		"may not say so":                   {change: func(a *api, _ *doctor.Config) { a.denied["create events"] = true }, want: []string{"wrong not-permitted"}},
		"nobody says who may":              {change: func(a *api, _ *doctor.Config) { a.broken["selfsubjectaccessreviews"] = true }, want: []string{"unknown undecided"}},
		"Kyverno may not watch exceptions": {change: func(a *api, _ *doctor.Config) { a.denied["watch policyexceptions.kyverno.io admission"] = true }, want: []string{"wrong kyverno-not-permitted"}},
		"nor list those of the other group": {change: func(a *api, _ *doctor.Config) {
			a.denied["list policyexceptions.policies.kyverno.io admission"] = true
		}, want: []string{"wrong kyverno-not-permitted"}},
		"a reports controller may not": {change: func(a *api, _ *doctor.Config) {
			reports := *a.kyverno.Items[0].DeepCopy()
			reports.Labels, reports.Spec.Template.Spec.ServiceAccountName = nil, ""
			a.kyverno.Items = append(a.kyverno.Items, reports)
			a.denied["list policyexceptions.kyverno.io default"] = true
		}, want: []string{"wrong kyverno-not-permitted"}},
		"nobody says what Kyverno may": {change: func(a *api, _ *doctor.Config) { a.broken["subjectaccessreviews"] = true }, want: []string{"unknown undecided"}},

		"no Lease":                          {change: func(a *api, _ *doctor.Config) { a.lease = nil }, want: []string{"wrong no-leader"}},
		"a Lease that nobody has held":      {change: held(func(l *coordinationv1.LeaseSpec) { *l = coordinationv1.LeaseSpec{} }), want: []string{"wrong no-leader"}},
		"a Lease that was given up":         {change: held(func(l *coordinationv1.LeaseSpec) { l.HolderIdentity = new("") }), want: []string{"wrong no-leader"}},
		"a Lease that nobody renews":        {change: held(func(l *coordinationv1.LeaseSpec) { l.RenewTime.Time = now.Add(-time.Minute) }), want: []string{"wrong no-leader"}},
		"a Lease of the future":             {change: held(func(l *coordinationv1.LeaseSpec) { l.RenewTime.Time = now.Add(time.Hour) }), want: []string{"wrong no-leader"}},
		"a Lease without a time":            {change: held(func(l *coordinationv1.LeaseSpec) { l.RenewTime = nil }), want: []string{"wrong no-leader"}},
		"the Lease of somebody else":        {change: held(func(l *coordinationv1.LeaseSpec) { l.HolderIdentity = new("somebody") }), want: []string{"wrong no-leader"}},
		"the Lease of another program":      {change: held(func(l *coordinationv1.LeaseSpec) { l.HolderIdentity = new("host_3f2a9c1e-7d41-4a53-9d7e-6b0f2c1d8e55") }), want: []string{"wrong no-leader"}},
		"a Lease that is renewed meanwhile": {change: func(a *api, _ *doctor.Config) { a.conflicts = 2 }},
		"a guard that may not renew it":     {change: func(a *api, _ *doctor.Config) { a.rejected = map[string]bool{"polex-guard": true} }, want: []string{"wrong write-rejected"}},
		"Events that are rejected":          {change: func(a *api, _ *doctor.Config) { a.rejected = map[string]bool{"events": true} }, want: []string{"doubtful write-rejected"}},

		"requests may be served last": {change: func(a *api, _ *doctor.Config) {
			a.flows = append(a.flows, flow("last", 100, object{"kind": "Group", "group": object{"name": "system:serviceaccounts"}}))
		}, want: []string{"doubtful served-last"}},
		"nobody says which flow schemas there are": {change: func(a *api, _ *doctor.Config) { a.broken["flowschemas"] = true }, want: []string{"unknown undecided"}},

		"its clock is ahead":       {change: func(a *api, _ *doctor.Config) { a.clock = now.Add(-time.Minute) }, want: []string{"wrong clock-differs"}},
		"its clock is behind":      {change: func(a *api, _ *doctor.Config) { a.clock = now.Add(time.Minute) }, want: []string{"wrong clock-differs"}},
		"nobody says the time":     {change: func(a *api, _ *doctor.Config) { a.clock = time.Time{} }, want: []string{"unknown undecided"}},
		"nobody says who is asked": {change: func(a *api, _ *doctor.Config) { a.broken["polex-guard"] = true }, want: []string{"unknown undecided"}},
		"the API server is gone":   {change: func(_ *api, c *doctor.Config) { c.Host = "http://" + closed(t) }, want: []string{"unknown undecided"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{
				validating: webhook(good), clock: now, denied: map[string]bool{}, broken: map[string]bool{},
				kyverno:    kyverno("--enablePolicyException=true", "--exceptionNamespace=platform-exceptions"),
				lease:      &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "polex-guard", Namespace: "polex-system"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new(cluster.NewIdentity("polex-guard-0")), RenewTime: &metav1.MicroTime{Time: now}}},
				flows:      builtIn(),
				conversion: object{"strategy": "None"}, services: []object{{"group": "kyverno.io"}, {"group": "metrics.k8s.io", "service": object{"name": "metrics"}}},
			}
			a.policies, a.bindings = protected()
			config := a.start(t)
			if tc.webhook != nil {
				tc.webhook(&a.validating.Webhooks[0])
			}
			if tc.change != nil {
				tc.change(a, &config)
			}
			var got []string
			for _, f := range doctor.Run(t.Context(), config) {
				expect.That(t, f.Subject != "" && f.Message != "", "it says nothing: %+v", f)
				if f.Outcome == doctor.Fine {
					continue
				}
				met[f.Reason] = true
				if said := outcomes[f.Outcome] + " " + f.Reason; !slices.Contains(got, said) {
					got = append(got, said)
				}
			}
			slices.Sort(got)
			expect.Equal(t, "result", tc.want, got)
		})
	}
	for _, reason := range doctor.Reasons() {
		expect.That(t, met[reason.Name] || t.Failed(), "nothing is wrong for %q", reason.Name)
		delete(met, reason.Name)
	}
	for reason := range met {
		t.Errorf("%q is not among the reasons", reason)
	}
}

var outcomes = map[doctor.Outcome]string{doctor.Wrong: "wrong", doctor.Unknown: "unknown", doctor.Doubtful: "doubtful"}

// split registers a separate webhook for each group.
func split(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for n, group := range []string{"kyverno.io", "policies.kyverno.io"} {
		for _, w := range c.Webhooks[:2] {
			w = *w.DeepCopy()
			w.Name, w.Rules[0].APIGroups = fmt.Sprintf("%s-%d", w.Name, n), []string{group}
			c.Webhooks = append(c.Webhooks, w)
		}
	}
	c.Webhooks = c.Webhooks[2:]
}

func asService(w *admissionregistrationv1.ValidatingWebhook, path string) {
	w.ClientConfig.URL = nil
	w.ClientConfig.Service = &admissionregistrationv1.ServiceReference{Namespace: "polex-system", Name: "polex-guard", Path: &path, Port: new(int32(8443))}
}

// naming returns an exception that names a policy of a kind.
func naming(kind string) object {
	return object{"apiVersion": "policies.kyverno.io/v1beta1", "kind": "PolicyException", "metadata": object{"name": "a", "namespace": "x"},
		"spec": object{"policyRefs": []object{{"name": "p", "kind": kind}}}}
}

// TestProtectedGroups: policies/guard/protect lets only administrators lead the API of the same groups
// elsewhere as those that check looks at.
func TestProtectedGroups(t *testing.T) {
	raw := must.Get(os.ReadFile(protectFolder + "/definitions.yaml"))(t)
	_, list, _ := strings.Cut(string(raw), "object.spec.?group.orValue('') in [")
	list, _, _ = strings.Cut(list, "]")
	var groups []string
	for _, m := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(list, -1) {
		groups = append(groups, m[1])
	}
	expect.Equal(t, "-check +protect", doctor.ProtectedGroups(), groups)
}
