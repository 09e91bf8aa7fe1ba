package doctor

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
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
			if k.asksAbout(w.Rules, admissionregistrationv1.Create) || k.asksAbout(w.Rules, admissionregistrationv1.Update) {
				k.add(Finding{Outcome: Doubtful, Subject: subject + "/" + config.Name + " " + w.Name, Reason: ReasonMutates,
					Message: "it is asked to change exceptions; one that it does change is refused as altered", Hint: "leave policyexceptions out of its rules"})
			}
		}
	}
	if len(k.found) == before {
		k.fine(subject, "none is asked about exceptions")
	}
}
