package doctor

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mutating looks for who may change exceptions before the guard is asked. What was
// signed does not survive that: it keeps honest ones out, and lets nothing in.
func (k *checkup) mutating(ctx context.Context) {
	const subject = "mutatingwebhookconfigurations"
	var list admissionregistrationv1.MutatingWebhookConfigurationList
	if err := k.Client.List(ctx, &list); err != nil {
		k.unknown(subject, err)
		return
	}
	before := len(k.found)
	for _, config := range list.Items {
		for _, w := range config.Webhooks {
			if k.touches(w.Rules) {
				k.add(Finding{Outcome: Doubtful, Subject: subject + "/" + config.Name + " " + w.Name, Reason: ReasonMutates,
					Message: "it is asked to change exceptions; one that it does change is refused as altered", Hint: "leave policyexceptions out of its rules"})
			}
		}
	}
	if len(k.found) == before {
		k.fine(subject, "none is asked about exceptions")
	}
}

// touches reports whether rules are about what is signed, in any version, when it is
// created or updated.
func (k *checkup) touches(rules []admissionregistrationv1.RuleWithOperations) bool {
	for _, gk := range k.Kinds {
		mappings, err := k.Client.RESTMapper().RESTMappings(schema.GroupKind{Group: gk.Group, Kind: gk.Kind})
		if err != nil {
			continue // covers says so
		}
		for _, m := range mappings {
			if asks(rules, m, admissionregistrationv1.Create) || asks(rules, m, admissionregistrationv1.Update) {
				return true
			}
		}
	}
	return false
}
