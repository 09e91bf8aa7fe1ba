package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/cluster"
)

// need is a permission that the guard requires.
type need struct {
	group, resource, namespace, name string
	verbs                            []string
}

// leaseName and reportName are the names of the Lease and of the reports. A role may be limited to
// these names. guardUser is the user of a guard outside of the cluster.
const leaseName, reportName, guardUser = "polex-guard", "polex-guard", "polex-guard"

// needs returns the permissions that every guard requires, except those for the guarded kinds.
func (k *checkup) needs() []need {
	const webhooks = "validatingwebhookconfigurations"
	needs := []need{
		{"authorization.k8s.io", "subjectaccessreviews", "", "", []string{"create"}},
		{"coordination.k8s.io", "leases", k.Namespace, "", []string{"create"}},
		{"coordination.k8s.io", "leases", k.Namespace, leaseName, []string{"get", "update"}},
		{"events.k8s.io", "events", "", "", []string{"create", "patch"}},
		{"openreports.io", "reports", "", "", []string{"list", "create"}},
		{"openreports.io", "reports", "", reportName, []string{"get", "update", "delete"}},
		{"wgpolicyk8s.io", "policyreports", "", "", []string{"list", "create"}},
		{"wgpolicyk8s.io", "policyreports", "", reportName, []string{"get", "update", "delete"}},
	}
	if k.SelfManaged == "" {
		return needs
	}
	return append(needs,
		need{"", "secrets", k.Namespace, "", []string{"list", "watch"}},
		need{"", "secrets", k.Namespace, k.SelfManaged, []string{"update"}},
		need{"admissionregistration.k8s.io", webhooks, "", "", []string{"list", "watch"}},
		need{"admissionregistration.k8s.io", webhooks, "", k.Webhook, []string{"update"}},
	)
}

// permissions asks the API server for the permissions of the current user. Run it as the
// ServiceAccount of the guard.
func (k *checkup) permissions(ctx context.Context) {
	needs := k.needs()
	for _, m := range k.servedKinds() {
		verbs := []string{"get", "list", "watch"}
		needs = append(needs, need{m.Resource.Group, m.Resource.Resource, "", "", append(verbs, "delete")})
		if isException(m) {
			name := cluster.DefinitionName(m.Resource.Group)
			needs = append(needs, need{cluster.DefinitionKind.Group, "customresourcedefinitions", "", name, verbs})
		}
	}
	defer k.unlessFound("permissions", "it may watch, delete expired exceptions, and write Events")()
	for _, n := range needs {
		lacking, err := k.lacking(ctx, n, "")
		if !k.known("permissions", err) {
			return
		}
		if len(lacking) > 0 {
			what := schema.GroupResource{Group: n.group, Resource: n.resource}
			k.report("permissions", "not-permitted", "it may not %s %s", strings.Join(lacking, ", "), what)
		}
	}
}

// lacking returns the verbs of a need that are not permitted to a ServiceAccount of Kyverno, or to the
// current user for "".
func (k *checkup) lacking(ctx context.Context, n need, account string) (lacking []string, err error) {
	for _, verb := range n.verbs {
		request := &authorizationv1.ResourceAttributes{
			Group: n.group, Resource: n.resource, Namespace: n.namespace, Name: n.name, Verb: verb,
		}
		self, other := &authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SubjectAccessReview{}
		review, status := client.Object(self), &self.Status
		self.Spec.ResourceAttributes, other.Spec.ResourceAttributes = request, request
		if account != "" {
			other.Spec.User = "system:serviceaccount:" + k.Kyverno + ":" + account
			const accounts = "system:serviceaccounts"
			other.Spec.Groups = []string{"system:authenticated", accounts, accounts + ":" + k.Kyverno}
			review, status = other, &other.Status
		}
		if err := k.Client.Create(ctx, review); err != nil {
			return nil, err
		}
		if !status.Allowed {
			lacking = append(lacking, verb)
		}
	}
	return lacking, nil
}

const flowSchemas, priorityLevels = "flowschemas", "prioritylevelconfigurations"

// ordinary are the objects by which the API server schedules the requests of the guard and of Kyverno. It
// creates them, and restores their spec while their annotation says so.
var ordinary = []string{
	flowSchemas + "/service-accounts", priorityLevels + "/workload-low",
	flowSchemas + "/global-default", priorityLevels + "/global-default", // of a user that is no ServiceAccount
}

// priority looks for other limits on the requests of the guard or of Kyverno. Without requests, the guard
// deletes no expired exception, and Kyverno does not learn of a deletion.
func (k *checkup) priority(ctx context.Context) {
	const fine = "the API server schedules the requests of the guard and of Kyverno as those of other accounts"
	defer k.unlessFound(flowSchemas, fine)()
	kinds := map[string]string{flowSchemas: "FlowSchema", priorityLevels: "PriorityLevelConfiguration"}
	for _, resource := range slices.Sorted(maps.Keys(kinds)) {
		of := schema.GroupVersionKind{Group: flowcontrolv1.GroupName, Version: "v1", Kind: kinds[resource]}
		k.ifServed(ctx, resource, of, func(item *unstructured.Unstructured) {
			k.prioritized(resource+"/"+item.GetName(), item)
		})
	}
}

// prioritized checks a FlowSchema or a PriorityLevelConfiguration, which has no rules.
func (k *checkup) prioritized(subject string, object *unstructured.Unstructured) {
	const lastOrdinary = 9900 // the precedence of global-default; an equal one can come before it
	const restores = flowcontrolv1.AutoUpdateAnnotationKey
	var s flowcontrolv1.FlowSchema
	if !k.known(subject, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &s)) {
		return
	}
	level := s.Spec.PriorityLevelConfiguration.Name
	switch {
	case slices.Contains(ordinary, subject):
		if s.Annotations[restores] == "true" {
			return
		}
		f := k.report(subject, "served-last", "the API server does not restore it, so somebody may have limited the "+
			"requests of the guard and Kyverno")
		f.Hint = fmt.Sprintf("set its annotation %s to \"true\", and find out who changed it", restores)
	case s.Spec.MatchingPrecedence > lastOrdinary, level == flowcontrolv1.PriorityLevelConfigurationNameExempt:
	case slices.ContainsFunc(s.Spec.Rules, k.schedules):
		f := k.report(subject, "served-last", "it leads requests of the guard or of Kyverno to the priority level %q, "+
			"where the API server may serve them late or never", level)
		f.Hint = "leave their accounts out of it, or lead them to the priority level exempt; " +
			"if nobody needs it, delete it, and find out who created it"
	}
}

// schedules reports whether a rule of a FlowSchema matches requests for objects by the guard or by Kyverno.
func (k *checkup) schedules(rule flowcontrolv1.PolicyRulesWithSubjects) bool {
	return len(rule.ResourceRules) > 0 && slices.ContainsFunc(rule.Subjects, func(s flowcontrolv1.Subject) bool {
		return slices.ContainsFunc([]string{k.Namespace, k.Kyverno}, func(namespace string) bool {
			const accounts, everybody = "system:serviceaccount", flowcontrolv1.NameAll
			switch {
			case s.ServiceAccount != nil:
				return s.ServiceAccount.Namespace == namespace
			case s.User != nil:
				name := s.User.Name
				return name == everybody || name == guardUser || strings.HasPrefix(name, accounts+":"+namespace+":")
			case s.Group != nil:
				all := []string{everybody, "system:authenticated", accounts + "s", accounts + "s:" + namespace}
				return slices.Contains(all, s.Group.Name)
			}
			return false
		})
	})
}

// leader checks that a guard holds the Lease, and can renew it. Without a leader, no guard deletes
// an expired exception.
func (k *checkup) leader(ctx context.Context) {
	const subject = "leases/" + leaseName
	defer k.unlessFound(subject, "a guard holds it, and can renew it")()
	var lease coordinationv1.Lease
	read := func() error {
		return k.Client.Get(ctx, types.NamespacedName{Namespace: k.Namespace, Name: leaseName}, &lease)
	}
	err := read()
	holder, renewed := ptr.Deref(lease.Spec.HolderIdentity, ""), ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{})
	why := ""
	switch {
	case apierrors.IsNotFound(err), err == nil && holder == "":
		why = "nobody holds it"
	case err != nil:
		k.unknown(subject, err)
	case k.Now().Sub(renewed.Time).Abs() > cluster.LeaseLasts+tolerance: // a guard takes over by its own clock
		why = fmt.Sprintf("its holder %q renewed it at %s", holder, timestamp(renewed.Time))
	case !cluster.IsIdentity(holder):
		why = fmt.Sprintf("its holder %q is not a guard", holder)
	}
	if why != "" {
		k.report(subject, "no-leader", "%s, so no guard deletes expired exceptions", why)
	}
	if err != nil {
		return // the function permissions reports a missing right
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error { // the leader renews it meanwhile
		if err := read(); err != nil {
			return err
		}
		lease.Spec.RenewTime = &metav1.MicroTime{Time: k.Now()}
		return k.Client.Update(ctx, &lease, client.DryRunAll)
	})
	k.accepted(subject, Wrong, "no guard can hold it", err)
	const namespace, check = metav1.NamespaceDefault, "check"
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: leaseName + "-" + check},
		EventTime:  metav1.MicroTime{Time: k.Now()}, ReportingController: leaseName, ReportingInstance: check,
		Type: corev1.EventTypeNormal, Reason: check, Action: check,
		Regarding: corev1.ObjectReference{Namespace: namespace},
	}
	err = k.Client.Create(ctx, event, client.DryRunAll)
	k.accepted("events", Doubtful, "only the log, the metrics and the reports tell the findings", err)
}

// accepted reports a dry run of a write of the guard that the API server rejects, for example because
// of a policy or a quota.
func (k *checkup) accepted(subject string, outcome Outcome, effect string, err error) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
	case errors.As(err, &status):
		k.report(subject, "write-rejected", "the API server rejects what the guard writes, so %s: %s", effect,
			err).Outcome = outcome
	default:
		k.unknown(subject, err)
	}
}

// tolerance is the tolerated difference of two clocks. The API server sends whole seconds, and its
// answer takes some time.
const tolerance = 5 * time.Second

// clock compares the clock with that of the API server, because the start and the expiry of
// exceptions depend on it.
func (k *checkup) clock(ctx context.Context) {
	const subject = "clock"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.Host+"/version", nil)
	if !k.known(subject, err) {
		return
	}
	answer, err := k.HTTP.Do(request)
	if !k.known(subject, err) {
		return
	}
	defer answer.Body.Close()
	theirs, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		k.unknown(subject, fmt.Errorf("the API server states no time: %w", err))
		return
	}
	if apart := k.Now().Sub(theirs).Abs(); apart > tolerance {
		k.report(subject, "clock-differs", "this clock and the API server's are %s apart", apart.Round(time.Second))
		return
	}
	k.fine(subject, "it agrees with the clock of the API server")
}
