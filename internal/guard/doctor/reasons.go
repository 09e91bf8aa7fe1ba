package doctor

import "github.com/polex-dev/polex/pkg/exception"

// reason is a reason of findings, with the hint for those that have no other.
type reason struct {
	name, doc, hint string
	// outcome is that of all findings. Findings of a milder reason can be doubtful too.
	outcome Outcome
	milder  bool
}

// reasons are the reasons, in the order of the checks.
var reasons = []reason{
	{name: "undecided", outcome: Unknown, doc: "a check could not be decided"},
	{name: "no-webhook", doc: "the API server does not ask the guard",
		hint: "apply the guard's manifests, or name the files of the API server with --static"},
	{name: "version-not-asked", doc: "the webhook leaves out a version that is served",
		hint: `write apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [policyexceptions, ` +
			`policyexceptions/*], scope: "*"`},
	{name: "delete-not-asked", outcome: Doubtful, doc: "the audit log does not name the user of a deletion",
		hint: "add the webhook for deletions of the guard's manifests"},
	{name: "deletes-fail-closed", outcome: Doubtful,
		doc:  "while no guard answers, exceptions and their namespaces cannot be deleted",
		hint: "use a separate webhook for DELETE, at " + DeletedPath + " and with failurePolicy: Ignore"},
	{name: "namespace-hole", doc: "the webhook leaves out some namespaces",
		hint: "remove it: an exception is valid in every namespace"},
	{name: "object-hole", doc: "the webhook leaves out some objects", hint: "remove the objectSelector"},
	{name: "condition-hole", doc: "the webhook leaves out some requests", hint: "remove them"},
	{name: "fails-open", doc: "without an answer, the API server admits everything", hint: "write failurePolicy: Fail"},
	{name: "timeout-too-short", doc: "the API server gives up before the guard does", hint: "raise timeoutSeconds"},
	{name: "side-effects", doc: "the API server cannot ask the webhook about a dry run",
		hint: "write sideEffects: NoneOnDryRun"},
	{name: "converts", outcome: Doubtful, doc: "matchPolicy is not Exact",
		hint: "write matchPolicy: Exact, and every version"},
	{name: "asks-elsewhere", milder: true,
		doc:  "the webhook points to a Service outside of the guard's namespace, or to another host",
		hint: "name the guard's Service, or find out who changed it"},
	{name: "bad-ca-bundle", doc: "the API server does not accept the guard's certificate",
		hint: "let cert-manager inject it, or copy the one that certifies the guard"},
	{name: "bad-certificate", doc: "the guard's certificate is invalid",
		hint: "the certificate must name this host, be valid now, and chain to the caBundle"},
	{name: "certificate-ends", doc: "the guard's certificate expires soon",
		hint: "renew it; the program that renews it should have done so by now"},
	{name: "static-not-loaded", doc: "an API server has not loaded the static files, or has loaded others",
		hint: "copy the folder to this node again, and find out who changed it"},
	{name: "static-reload-failed", outcome: Doubtful,
		doc:  "an API server cannot load the static files that are on its disk now",
		hint: "the log of this API server names the file; it does not start with it"},
	{name: "conversion-webhook",
		doc: "a webhook converts exceptions between versions, the schemas of two served versions differ, or " +
			"exceptions have another name",
		hint: "apply the definition of Kyverno again, with spec.conversion.strategy: None, and find out who " +
			"changed it"},
	{name: "version-not-served",
		doc: "the API server does not serve exceptions in the version that Kyverno reads, and Kyverno keeps those " +
			"that it read before",
		hint: "apply the definition of Kyverno again, and find out who changed it"},
	{name: "served-elsewhere", milder: true,
		doc: "an APIService points to another server for exceptions, or for kinds that the guard or Kyverno " +
			"depends on",
		hint: "delete it, and the API server makes its own; then find out who changed it"},
	{name: "mutates", outcome: Doubtful,
		doc:  "another webhook or a MutatingAdmissionPolicy changes exceptions during admission",
		hint: "leave policyexceptions out of its rules"},
	{name: "mutates-guard", milder: true,
		doc: "another webhook or a policy changes objects that the guard or Kyverno depends on",
		hint: "exclude namespaces with its namespaceSelector, and the other objects by its rules; " +
			"for Kyverno, set config.webhooks.namespaceSelector of its chart"},
	{name: "deletion-held", outcome: Doubtful, doc: "finalizers keep a deleted exception, and Kyverno still applies it",
		hint: "find out why their controllers do not remove them, or remove them: that needs no signature"},
	{name: "kept-by-kyverno", outcome: Doubtful,
		doc: "Kyverno still applies an exception after its expiry and deletion",
		hint: "after the expiry, change a label or the spec of the policy that it names, " +
			"or restart Kyverno's admission controller"},
	{name: "blocks-deletions", outcome: Doubtful,
		doc:  "another webhook or admission policy could prevent the deletion of an expired exception",
		hint: "leave DELETE of policyexceptions out of its rules"},
	{name: "not-protected", outcome: Doubtful, doc: "the policies that protect the guard are not installed",
		hint: "name administrators, and apply policies/guard/protect"},
	{name: "protection-hole", milder: true,
		doc:  "a policy of protect is missing, fails open, validates nothing or is bound to nothing",
		hint: "apply policies/guard/protect again, and find out who changed it"},
	{name: "exceptions-disabled", outcome: Doubtful, doc: "Kyverno ignores all exceptions",
		hint: "run it with --enablePolicyException=true"},
	{name: "exceptions-from-everywhere", outcome: Doubtful, doc: "Kyverno applies exceptions from every namespace",
		hint: "run it with --exceptionNamespace, and keep others out of that namespace"},
	{name: "namespace-not-guarded", outcome: Doubtful, doc: "Kyverno's namespace is missing in guard.guardNamespaces",
		hint: "add it to guard.guardNamespaces of the configuration"},
	{name: "served-last", outcome: Doubtful,
		doc: "the API server may serve the requests of the guard or of Kyverno late or never"},
	{name: "not-permitted", doc: "the guard lacks a permission",
		hint: "give the guard's ServiceAccount the role of its manifests, and run this check as that account"},
	{name: "kyverno-not-permitted",
		doc:  "Kyverno may not list or watch exceptions, and keeps those that it read before",
		hint: "apply the roles of Kyverno again, and find out who changed them"},
	{name: "no-leader", doc: "no guard holds the Lease, so no expired exception is deleted",
		hint: "look for errors about the Lease in the logs of the guards, and find out who writes it"},
	{name: "write-rejected", milder: true,
		doc:  "a policy, a webhook or a quota rejects what the guard writes: its Lease or its Events",
		hint: "the message names the policy, the webhook or the quota: let the guard's account pass it"},
	{name: "clock-differs", doc: "the clocks of the guard and the API server are more than five seconds apart",
		hint: "set the clocks: the guard's clock decides when an exception expires"},
}

// reasonOf returns a reason by its name. "fine" has none.
func reasonOf(name string) reason {
	for _, r := range reasons {
		if r.name == name {
			return r
		}
	}
	return reason{}
}

// Reasons returns the reasons, in the order of the checks.
func Reasons() []exception.Reason {
	var all []exception.Reason
	for _, r := range reasons {
		severity := exception.SeverityError
		if r.outcome == Doubtful {
			severity = exception.SeverityWarning
		}
		all = append(all, exception.Reason{Name: r.name, Doc: r.doc, Severity: severity, Milder: r.milder})
	}
	return all
}
