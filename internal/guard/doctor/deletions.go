package doctor

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// deletions looks for webhooks and policies that can prevent the guard from deleting an expired
// exception, which Kyverno then still applies. The function mutating checks the mutating ones.
func (k *checkup) deletions(ctx context.Context) {
	const webhooks, policies = "validatingwebhookconfigurations", "validatingadmissionpolicies"
	var configs admissionregistrationv1.ValidatingWebhookConfigurationList
	var list admissionregistrationv1.ValidatingAdmissionPolicyList
	if !k.list(ctx, webhooks, &configs) || !k.list(ctx, policies, &list) {
		return
	}
	defer k.unlessFound("webhooks and policies for deletions", "only the guard checks the deletion of exceptions")()
	for _, config := range configs.Items {
		for _, w := range config.Webhooks {
			if config.Name != k.Webhook || k.Static != nil { // the guard needs none in the API beside the static one
				k.blocks(webhooks+"/"+config.Name+" "+w.Name, w.Rules)
			}
		}
	}
	delivered, err := policiesIn(k.Protect)
	if !k.known(policies, err) {
		return
	}
	for _, p := range list.Items {
		if p.Spec.MatchConstraints != nil && delivered[p.Name] == nil { // the function protect compares these
			k.blocks(policies+"/"+p.Name, rulesOf(p.Spec.MatchConstraints))
		}
	}
}

// rulesOf returns the rules of a policy. Names of objects can only exclude requests.
func rulesOf(m *admissionregistrationv1.MatchResources) (rules []admissionregistrationv1.RuleWithOperations) {
	for _, r := range m.ResourceRules {
		rules = append(rules, r.RuleWithOperations)
	}
	return rules
}

// blocks reports rules that match the deletion of exceptions.
func (k *checkup) blocks(subject string, rules []admissionregistrationv1.RuleWithOperations) {
	if k.asksAbout(rules, admissionregistrationv1.Delete) {
		k.report(subject, "blocks-deletions",
			"it may prevent the guard from deleting an exception, which then stays valid after its expiry")
	}
}
