package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
		of := schema.GroupVersionKind{Group: flowcontrolv1.GroupName, Version: "v1", Kind: kinds[resource] + "List"}
		items, _ := k.ifServed(ctx, resource, of)
		for _, item := range items {
			k.prioritized(resource+"/"+item.GetName(), item)
		}
	}
}

// prioritized checks a FlowSchema or a PriorityLevelConfiguration, which has no rules.
func (k *checkup) prioritized(subject string, object unstructured.Unstructured) {
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
