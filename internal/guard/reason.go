package guard

import (
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// The reasons of the guard. A rejection by the verifier has the reason of pkg/verify.
// ReasonReachesGuard is the reason of polex-validate.
const (
	ReasonVerified  = "verified"
	ReasonDeleted   = "deleted"   // a DELETE, which is allowed
	ReasonReleased  = "released"  // an object that is being deleted loses a finalizer
	ReasonStatus    = "status"    // only the status changes
	ReasonUnchanged = "unchanged" // an UPDATE that changes nothing

	ReasonMalformed             = "malformed"
	ReasonTooLarge              = "too-large"
	ReasonOperationNotAllowed   = "operation-not-allowed"
	ReasonConverted             = "converted"
	ReasonGeneratedName         = "generated-name"
	ReasonWrongObject           = "wrong-object"
	ReasonBeingDeleted          = "being-deleted"
	ReasonNamespaceNotAllowed   = "namespace-not-allowed"
	ReasonAnotherCluster        = "another-cluster"
	ReasonNoCluster             = "no-cluster"
	ReasonReachesGuard          = kyverno.ReasonReachesGuard
	ReasonRollback              = "rollback"
	ReasonDropsPolicy           = "drops-policy"
	ReasonTooMany               = "too-many"
	ReasonOverloaded            = "overloaded"
	ReasonUndecided             = "undecided"
	ReasonSubresourceNotAllowed = "subresource-not-allowed"
	ReasonUnreadable            = "unreadable"         // for stored objects only
	ReasonConversion            = "conversion-webhook" // for stored objects only
)

// hints name the next step after a rejection. The user of kubectl apply sees them.
var hints = map[string]string{
	verify.ReasonUnsigned:      "commit it to the repository of exceptions, where the merge workflow signs it",
	verify.ReasonAltered:       "apply the file as it was signed, or have the change reviewed and signed",
	verify.ReasonWrongIdentity: "have it signed by the merge workflow that this cluster trusts",
	verify.ReasonBeyondLimits: "narrow it to the limits of its signer, or have it signed by an authority " +
		"whose limits permit it",
	verify.ReasonRenewalNotAllowed:    "request a new exception instead of a renewal",
	verify.ReasonTooFewAuthorities:    "have the others sign it too",
	verify.ReasonExpired:              "remove it from Git, or have a renewal reviewed and signed",
	verify.ReasonNoExpiry:             "have it signed with an expiry",
	verify.ReasonLifetimeTooLong:      "have it signed with an earlier expiry",
	verify.ReasonWithdrawn:            "have a new one reviewed and signed",
	verify.ReasonUntrustedCertificate: "have it signed by the Sigstore that this cluster trusts",
	verify.ReasonUnprovenLogEntry:     "have it signed by the Sigstore that this cluster trusts",
	verify.ReasonKindNotAllowed: "remove this kind from the rules of the guard's webhook, or add it to the " +
		"trust policy",
	verify.ReasonSignedInFuture: "compare the clocks of the guard and the signer",

	ReasonMalformed:             "write it plainly: no duplicate keys, nothing that readers disagree about",
	ReasonTooLarge:              "an exception is a few KiB: split it",
	ReasonOperationNotAllowed:   "create, update or delete it",
	ReasonConverted:             "register the webhook for every version, with matchPolicy: Exact",
	ReasonGeneratedName:         "give it a name: a signed exception has one",
	ReasonBeingDeleted:          "wait until it is deleted, then apply it",
	ReasonNamespaceNotAllowed:   "move it to a namespace that guard.namespaces permits",
	ReasonAnotherCluster:        "have one reviewed and signed for this cluster",
	ReasonNoCluster:             "have it signed with the annotation " + exception.AnnotationCluster,
	ReasonReachesGuard:          "list policies, kinds and namespaces by name, without those of the guard",
	ReasonRollback:              "apply the newer one, or delete the stored one first",
	ReasonDropsPolicy:           "delete the stored exception first, then apply this one",
	ReasonTooMany:               "remove exceptions that are no longer necessary",
	ReasonOverloaded:            "try again",
	ReasonUndecided:             "try again; if it stays so, the guard's log says why",
	ReasonSubresourceNotAllowed: "change the object itself, signed",
	ReasonUnreadable:            "delete it, or have it reviewed and signed in a version that the API server serves",
	ReasonConversion: "apply the definition of Kyverno again, with spec.conversion.strategy: None, and " +
		"find out who changed it; run polex-guard check",
}

// codes are the HTTP status codes of the denials that are not 403.
var codes = map[string]int32{
	ReasonTooLarge:   413,
	ReasonOverloaded: 429,
	ReasonUndecided:  500,
}

// permitted are the reasons of answers that allow a request.
var permitted = []exception.Reason{
	{Name: ReasonVerified, Doc: "the exception verifies", Severity: exception.SeverityNote},
	{Name: ReasonDeleted, Doc: "everything may be deleted", Severity: exception.SeverityNote},
	{Name: ReasonReleased, Doc: "only finalizers of an object that is being deleted change",
		Severity: exception.SeverityNote},
	{Name: ReasonStatus, Doc: "only the status changes", Severity: exception.SeverityNote},
	{Name: ReasonUnchanged, Doc: "the update changes nothing", Severity: exception.SeverityNote},
}

// Reasons returns the reasons for which only the guard rejects.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonMalformed, Doc: "the object, or the review, cannot be read unambiguously"},
		{Name: ReasonTooLarge, Doc: "the review has more than 4 MiB"},
		{Name: ReasonOperationNotAllowed, Doc: "it is neither created, updated nor deleted"},
		{Name: ReasonSubresourceNotAllowed,
			Doc: "a subresource, such as scale, would change fields that are not signed"},
		{Name: ReasonConverted, Doc: "the API server sends another version than the written one: its webhook does " +
			"not name every version"},
		{Name: ReasonWrongObject, Doc: "the object is not the one that the request is about"},
		{Name: ReasonGeneratedName, Doc: "it has no name, and the API server would make one"},
		{Name: ReasonBeingDeleted, Doc: "it is being deleted, and the update changes more than its finalizers"},
		{Name: ReasonNamespaceNotAllowed, Doc: "guard.namespaces allows no exception in its namespace"},
		{Name: ReasonAnotherCluster, Doc: "it is for another cluster, by its annotation polex.dev/cluster"},
		{Name: ReasonNoCluster, Doc: "it names no cluster, and guard.requireCluster requires one"},
		{Name: ReasonReachesGuard, Doc: "it would exempt exceptions, or objects that guard them"},
		{Name: ReasonRollback, Doc: "it was signed before the exception that it would replace"},
		{Name: ReasonDropsPolicy, Doc: "it no longer names a policy to which Kyverno would still apply the stored " +
			"exception: delete that one first"},
		{Name: ReasonTooMany, Doc: "its namespace has as many exceptions as guard.maxPerNamespace allows"},
		{Name: ReasonOverloaded, Doc: "too many requests wait: try again"},
		{Name: ReasonUndecided, Doc: "the check failed or took too long"},
		{Name: ReasonUnreadable, Doc: "the stored object cannot be read in the version that was signed"},
		{Name: ReasonConversion, Doc: "the CustomResourceDefinition converts exceptions between versions, does not " +
			"serve them as Kyverno reads them, or could not be read"},
	}
}
