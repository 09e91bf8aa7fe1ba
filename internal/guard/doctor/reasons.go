package doctor

// The reasons.
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

	ReasonConversion         = "conversion-webhook"
	ReasonServedElsewhere    = "served-elsewhere"
	ReasonMutates            = "mutates"
	ReasonMutatesGuard       = "mutates-guard"
	ReasonBlocksDeletions    = "blocks-deletions"
	ReasonNotProtected       = "not-protected"
	ReasonProtectionHole     = "protection-hole"
	ReasonExceptionsDisabled = "exceptions-disabled"
	ReasonFromEverywhere     = "exceptions-from-everywhere"
	// ReasonNamespaceNotGuarded is of Kyverno's namespace.
	ReasonNamespaceNotGuarded = "namespace-not-guarded"
	ReasonNotPermitted        = "not-permitted"
	ReasonClock               = "clock-differs"
)

// Reasons returns the reasons, in the order of the checks.
func Reasons() []string {
	return []string{
		ReasonUnknown, ReasonNoWebhook, ReasonVersionNotAsked, ReasonDeleteNotAsked, ReasonDeletesFailClosed, ReasonNamespaceHole, ReasonObjectHole,
		ReasonConditionHole, ReasonFailsOpen, ReasonTimeout, ReasonSideEffects, ReasonMatchPolicy, ReasonAsksElsewhere, ReasonBundle, ReasonCertificate,
		ReasonCertificateEnds, ReasonConversion, ReasonServedElsewhere, ReasonMutates, ReasonMutatesGuard, ReasonBlocksDeletions, ReasonNotProtected, ReasonProtectionHole,
		ReasonExceptionsDisabled, ReasonFromEverywhere, ReasonNamespaceNotGuarded, ReasonNotPermitted, ReasonClock,
	}
}
