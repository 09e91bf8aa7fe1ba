package doctor

import (
	"context"
	"fmt"
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

// lastOrdinary is the precedence of the FlowSchema global-default. An equal one can come before it.
const lastOrdinary = 9900

// priority looks for other limits on the requests of the guard or of Kyverno. Without requests, the guard
// deletes no expired exception, and Kyverno does not learn of a deletion.
func (k *checkup) priority(ctx context.Context) {
	defer k.unlessFound("flow schemas", "the API server schedules the requests of the guard and of Kyverno as those of other accounts")()
	for _, of := range [][2]string{{flowSchemas, "FlowSchemaList"}, {priorityLevels, "PriorityLevelConfigurationList"}} {
		kind := schema.GroupVersionKind{Group: flowcontrolv1.GroupName, Version: "v1", Kind: of[1]}
		items, _ := k.list(ctx, of[0], kind)
		for _, item := range items {
			k.prioritized(of[0]+"/"+item.GetName(), item)
		}
	}
}

// prioritized checks a FlowSchema or a PriorityLevelConfiguration, which has no rules.
func (k *checkup) prioritized(subject string, object unstructured.Unstructured) {
	const restores = flowcontrolv1.AutoUpdateAnnotationKey
	var s flowcontrolv1.FlowSchema
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &s); err != nil {
		k.unknown(subject, err)
		return
	}
	f := Finding{Outcome: Doubtful, Subject: subject, Reason: ReasonServedLast}
	level := s.Spec.PriorityLevelConfiguration.Name
	switch {
	case slices.Contains(ordinary, subject):
		if s.Annotations[restores] == "true" {
			return
		}
		f.Message = "the API server does not restore it, so somebody may have limited the requests of the guard and of Kyverno"
		f.Hint = fmt.Sprintf("set its annotation %s to \"true\", and find out who changed it", restores)
	case s.Spec.MatchingPrecedence > lastOrdinary, level == flowcontrolv1.PriorityLevelConfigurationNameExempt:
		return
	case slices.ContainsFunc(s.Spec.Rules, k.schedules):
		f.Message = fmt.Sprintf("it leads requests of the guard or of Kyverno to the priority level %q, "+
			"where the API server may serve them late or never", level)
		f.Hint = "leave their accounts out of it, or lead them to the priority level exempt; if nobody needs it, delete it, and find out who created it"
	default:
		return
	}
	k.add(f)
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
				return s.User.Name == everybody || s.User.Name == guardUser || strings.HasPrefix(s.User.Name, accounts+":"+namespace+":")
			case s.Group != nil:
				return slices.Contains([]string{everybody, "system:authenticated", accounts + "s", accounts + "s:" + namespace}, s.Group.Name)
			}
			return false
		})
	})
}
