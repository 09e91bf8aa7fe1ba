package doctor

import "github.com/polex-dev/polex/pkg/exception"

// The reasons of findings.
const (
	ReasonUnknown = "undecided"

	ReasonNoWebhook         = "no-webhook"
	ReasonVersionNotAsked   = "version-not-asked"
	ReasonDeleteNotAsked    = "delete-not-asked"
	ReasonDeletesFailClosed = "deletes-fail-closed"
	ReasonNamespaceHole     = "namespace-hole"
	ReasonObjectHole        = "object-hole"
	ReasonConditionHole     = "condition-hole"
	ReasonFailsOpen         = "fails-open"
	ReasonTimeout           = "timeout-too-short"
	ReasonSideEffects       = "side-effects"
	ReasonMatchPolicy       = "converts"
	ReasonAsksElsewhere     = "asks-elsewhere"
	ReasonBundle            = "bad-ca-bundle"
	ReasonCertificate       = "bad-certificate"
	ReasonCertificateEnds   = "certificate-ends"

	ReasonNotLoaded    = "static-not-loaded"
	ReasonReloadFailed = "static-reload-failed"

	ReasonConversion         = "conversion-webhook"
	ReasonVersionNotServed   = "version-not-served"
	ReasonServedElsewhere    = "served-elsewhere"
	ReasonMutates            = "mutates"
	ReasonMutatesGuard       = "mutates-guard"
	ReasonDeletionHeld       = "deletion-held"
	ReasonKeptByKyverno      = "kept-by-kyverno"
	ReasonBlocksDeletions    = "blocks-deletions"
	ReasonNotProtected       = "not-protected"
	ReasonProtectionHole     = "protection-hole"
	ReasonExceptionsDisabled = "exceptions-disabled"
	ReasonFromEverywhere     = "exceptions-from-everywhere"
	// ReasonNamespaceNotGuarded is about the namespace of Kyverno.
	ReasonNamespaceNotGuarded = "namespace-not-guarded"
	ReasonNotPermitted        = "not-permitted"
	// ReasonKyvernoBlind is about the permissions of Kyverno.
	ReasonKyvernoBlind  = "kyverno-not-permitted"
	ReasonServedLast    = "served-last"
	ReasonNoLeader      = "no-leader"
	ReasonWriteRejected = "write-rejected"
	ReasonClock         = "clock-differs"
)

// Reasons returns the reasons, in the order of the checks.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonUnknown, Doc: "a check could not be decided"},
		{Name: ReasonNoWebhook, Doc: "the API server does not ask the guard"},
		{Name: ReasonVersionNotAsked, Doc: "the webhook leaves out a version that is served"},
		{Name: ReasonDeleteNotAsked, Doc: "the audit log does not name the user of a deletion", Severity: exception.SeverityWarning},
		{Name: ReasonDeletesFailClosed, Doc: "while no guard answers, exceptions and their namespaces cannot be deleted", Severity: exception.SeverityWarning},
		{Name: ReasonNamespaceHole, Doc: "the webhook leaves out some namespaces"},
		{Name: ReasonObjectHole, Doc: "the webhook leaves out some objects"},
		{Name: ReasonConditionHole, Doc: "the webhook leaves out some requests"},
		{Name: ReasonFailsOpen, Doc: "without an answer, the API server admits everything"},
		{Name: ReasonTimeout, Doc: "the API server gives up before the guard does"},
		{Name: ReasonSideEffects, Doc: "the API server cannot ask the webhook about a dry run"},
		{Name: ReasonMatchPolicy, Doc: "matchPolicy is not Exact", Severity: exception.SeverityWarning},
		{Name: ReasonAsksElsewhere, Doc: "the webhook points to a Service outside of the guard's namespace, or to another host", Milder: true},
		{Name: ReasonBundle, Doc: "the API server does not accept the guard's certificate"},
		{Name: ReasonCertificate, Doc: "the guard's certificate is invalid"},
		{Name: ReasonCertificateEnds, Doc: "the guard's certificate expires soon"},
		{Name: ReasonNotLoaded, Doc: "an API server has not loaded the static files, or has loaded others"},
		{Name: ReasonReloadFailed, Doc: "an API server cannot load the static files that are on its disk now", Severity: exception.SeverityWarning},
		{Name: ReasonConversion, Doc: "a webhook converts exceptions between versions, the schemas of two served versions differ, or exceptions have another name"},
		{Name: ReasonVersionNotServed, Doc: "the API server does not serve exceptions in the version that Kyverno reads, and Kyverno keeps those that it read before"},
		{Name: ReasonServedElsewhere, Doc: "an APIService points to another server for exceptions, or for kinds that the guard or Kyverno depends on", Milder: true},
		{Name: ReasonMutates, Doc: "another webhook or a MutatingAdmissionPolicy changes exceptions during admission", Severity: exception.SeverityWarning},
		{Name: ReasonMutatesGuard, Doc: "another webhook or a policy changes objects that the guard or Kyverno depends on", Milder: true},
		{Name: ReasonDeletionHeld, Doc: "finalizers keep a deleted exception, and Kyverno still applies it", Severity: exception.SeverityWarning},
		{Name: ReasonKeptByKyverno, Doc: "Kyverno still applies an exception after its expiry and deletion", Severity: exception.SeverityWarning},
		{Name: ReasonBlocksDeletions, Doc: "another webhook or admission policy could prevent the deletion of an expired exception", Severity: exception.SeverityWarning},
		{Name: ReasonNotProtected, Doc: "the policies that protect the guard are not installed", Severity: exception.SeverityWarning},
		{Name: ReasonProtectionHole, Doc: "a policy of protect is missing, fails open, validates nothing or is bound to nothing", Milder: true},
		{Name: ReasonExceptionsDisabled, Doc: "Kyverno ignores all exceptions", Severity: exception.SeverityWarning},
		{Name: ReasonFromEverywhere, Doc: "Kyverno applies exceptions from every namespace", Severity: exception.SeverityWarning},
		{Name: ReasonNamespaceNotGuarded, Doc: "Kyverno's namespace is missing in guard.guardNamespaces", Severity: exception.SeverityWarning},
		{Name: ReasonServedLast, Doc: "the API server may serve the requests of the guard or of Kyverno late or never", Severity: exception.SeverityWarning},
		{Name: ReasonNotPermitted, Doc: "the guard lacks a permission"},
		{Name: ReasonKyvernoBlind, Doc: "Kyverno may not list or watch exceptions, and keeps those that it read before"},
		{Name: ReasonNoLeader, Doc: "no guard holds the Lease, so no expired exception is deleted"},
		{Name: ReasonWriteRejected, Doc: "a policy, a webhook or a quota rejects what the guard writes: its Lease or its Events", Milder: true},
		{Name: ReasonClock, Doc: "the clocks of the guard and the API server are more than five seconds apart"},
	}
}
