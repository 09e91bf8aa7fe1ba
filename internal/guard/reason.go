package guard

import (
	"net/http"
	"slices"

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

// reason is a reason of the guard.
type reason struct {
	name, doc string
	hint      string // the next step after a rejection
	code      int32  // HTTP status of a rejection; 0: 403
	allows    bool
}

// reasons are the reasons of the guard.
var reasons = []reason{
	{name: ReasonVerified, doc: "the exception verifies", allows: true},
	{name: ReasonDeleted, doc: "everything may be deleted", allows: true},
	{name: ReasonReleased, doc: "only finalizers of an object that is being deleted change", allows: true},
	{name: ReasonStatus, doc: "only the status changes", allows: true},
	{name: ReasonUnchanged, doc: "the update changes nothing", allows: true},

	{name: ReasonMalformed, doc: "the object, or the review, cannot be read unambiguously",
		hint: "write it plainly: no duplicate keys, nothing that readers disagree about"},
	{name: ReasonTooLarge, doc: "the review has more than 4 MiB", hint: "an exception is a few KiB: split it",
		code: http.StatusRequestEntityTooLarge},
	{name: ReasonOperationNotAllowed, doc: "it is neither created, updated nor deleted",
		hint: "create, update or delete it"},
	{name: ReasonSubresourceNotAllowed, doc: "a subresource, such as scale, would change fields that are not signed",
		hint: "change the object itself, signed"},
	{name: ReasonConverted,
		doc:  "the API server sends another version than the written one: its webhook does not name every version",
		hint: "register the webhook for every version, with matchPolicy: Exact"},
	{name: ReasonWrongObject, doc: "the object is not the one that the request is about"},
	{name: ReasonGeneratedName, doc: "it has no name, and the API server would make one",
		hint: "give it a name: a signed exception has one"},
	{name: ReasonBeingDeleted, doc: "it is being deleted, and the update changes more than its finalizers",
		hint: "wait until it is deleted, then apply it"},
	{name: ReasonNamespaceNotAllowed, doc: "guard.namespaces allows no exception in its namespace",
		hint: "move it to a namespace that guard.namespaces permits"},
	{name: ReasonAnotherCluster, doc: "it is for another cluster, by its annotation polex.dev/cluster",
		hint: "have one reviewed and signed for this cluster"},
	{name: ReasonNoCluster, doc: "it names no cluster, and guard.requireCluster requires one",
		hint: "have it signed with the annotation " + exception.AnnotationCluster},
	{name: ReasonReachesGuard, doc: "it would exempt exceptions, or objects that guard them",
		hint: "list policies, kinds and namespaces by name, without those of the guard"},
	{name: ReasonRollback, doc: "it was signed before the exception that it would replace",
		hint: "apply the newer one, or delete the stored one first"},
	{name: ReasonDropsPolicy,
		doc: "it no longer names a policy to which Kyverno would still apply the stored exception: delete that " +
			"one first", hint: "delete the stored exception first, then apply this one"},
	{name: ReasonTooMany, doc: "its namespace has as many exceptions as guard.maxPerNamespace allows",
		hint: "remove exceptions that are no longer necessary"},
	{name: ReasonOverloaded, doc: "too many requests wait: try again", hint: "try again",
		code: http.StatusTooManyRequests},
	{name: ReasonUndecided, doc: "the check failed or took too long",
		hint: "try again; if it stays so, the guard's log says why", code: http.StatusInternalServerError},
	{name: ReasonUnreadable, doc: "the stored object cannot be read in the version that was signed",
		hint: "delete it, or have it reviewed and signed in a version that the API server serves"},
	{name: ReasonConversion,
		doc: "the CustomResourceDefinition converts exceptions between versions, does not serve them as Kyverno " +
			"reads them, or could not be read",
		hint: "apply the definition of Kyverno again, with spec.conversion.strategy: None, and find out who " +
			"changed it; run polex-guard check"},
}

// verifierHints are the next steps after a rejection by the verifier.
var verifierHints = map[string]string{
	verify.ReasonUnsigned:      "commit it to the repository of exceptions, where the merge workflow signs it",
	verify.ReasonAltered:       "apply the file as it was signed, or have the change reviewed and signed",
	verify.ReasonWrongIdentity: "have it signed by the merge workflow that this cluster trusts",
	verify.ReasonBeyondLimits: "narrow it to the limits of its signer, or have it signed by an authority whose " +
		"limits permit it",
	verify.ReasonRenewalNotAllowed:    "request a new exception instead of a renewal",
	verify.ReasonTooFewAuthorities:    "have the others sign it too",
	verify.ReasonExpired:              "remove it from Git, or have a renewal reviewed and signed",
	verify.ReasonNoExpiry:             "have it signed with an expiry",
	verify.ReasonLifetimeTooLong:      "have it signed with an earlier expiry",
	verify.ReasonWithdrawn:            "have a new one reviewed and signed",
	verify.ReasonUntrustedCertificate: "have it signed by the Sigstore that this cluster trusts",
	verify.ReasonUnprovenLogEntry:     "have it signed by the Sigstore that this cluster trusts",
	verify.ReasonKindNotAllowed: "remove this kind from the rules of the guard's webhook, or add it to the trust " +
		"policy",
	verify.ReasonSignedInFuture: "compare the clocks of the guard and the signer",
}

// reasonOf returns a reason of the guard, or of the verifier with its hint.
func reasonOf(name string) reason {
	if i := slices.IndexFunc(reasons, func(r reason) bool { return r.name == name }); i >= 0 {
		return reasons[i]
	}
	return reason{name: name, hint: verifierHints[name]}
}

// Reasons returns the reasons for which only the guard rejects.
func Reasons() (all []exception.Reason) {
	for _, r := range reasons {
		if !r.allows {
			all = append(all, exception.Reason{Name: r.name, Doc: r.doc})
		}
	}
	return all
}
