package guard

import (
	"slices"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/verify"
)

// The reasons that are the guard's own. What the verifier refuses has the
// verifier's, and what reaches the guard has the one that polex-validate has.
const (
	ReasonVerified  = "verified"
	ReasonDeleted   = "deleted"   // a DELETE, which is allowed
	ReasonReleased  = "released"  // a finalizer of what is being deleted
	ReasonStatus    = "status"    // nothing but the status
	ReasonUnchanged = "unchanged" // an UPDATE that leaves everything as it is

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
	ReasonTooMany               = "too-many"
	ReasonOverloaded            = "overloaded"
	ReasonUndecided             = "undecided"
	ReasonSubresourceNotAllowed = "subresource-not-allowed"
	ReasonUnknownToGit          = "unknown-to-git"     // of what is stored alone
	ReasonUnreadable            = "unreadable"         // likewise
	ReasonConversion            = "conversion-webhook" // likewise
)

// hints say what to do about a refusal, for who sees it in the answer to a
// kubectl apply.
var hints = map[string]string{
	string(verify.ReasonUnsigned):             "commit it to the repository of exceptions, where the merge workflow signs it",
	string(verify.ReasonAltered):              "apply the file as it was signed, or have the change reviewed and signed",
	string(verify.ReasonWrongIdentity):        "have it signed by the merge workflow that this cluster trusts",
	string(verify.ReasonBeyondLimits):         "narrow it to what the signer may sign, or have somebody sign who may",
	string(verify.ReasonTooFewAuthorities):    "have the others sign it too",
	string(verify.ReasonExpired):              "take it out of Git, or have a renewal reviewed and signed",
	string(verify.ReasonNoExpiry):             "have it signed with an expiry",
	string(verify.ReasonLifetimeTooLong):      "have it signed with an earlier expiry",
	string(verify.ReasonWithdrawn):            "have a new one reviewed and signed",
	string(verify.ReasonUntrustedCertificate): "have it signed by the Sigstore that this cluster trusts",
	string(verify.ReasonUnprovenLogEntry):     "have it signed by the Sigstore that this cluster trusts",
	string(verify.ReasonKindNotAllowed):       "this kind is not for the guard: leave it out of its webhook, or name it in the trust policy",
	string(verify.ReasonSignedInFuture):       "look at the clocks of the guard and of the signer",

	ReasonMalformed:             "write it plainly: no duplicate keys, nothing that readers disagree about",
	ReasonTooLarge:              "an exception is a few KiB: split it",
	ReasonOperationNotAllowed:   "create, update or delete it",
	ReasonConverted:             "register the webhook for every version, with matchPolicy: Exact",
	ReasonGeneratedName:         "give it a name: what is signed has one",
	ReasonBeingDeleted:          "wait until it is gone, and apply it then",
	ReasonNamespaceNotAllowed:   "put it where exceptions may stand in this cluster",
	ReasonAnotherCluster:        "have one reviewed and signed for this cluster",
	ReasonNoCluster:             "have it signed with the annotation " + AnnotationCluster,
	ReasonReachesGuard:          "change the guard itself, in the open",
	ReasonRollback:              "apply the newer one, or delete what is there first",
	ReasonTooMany:               "remove what has served its purpose",
	ReasonOverloaded:            "try again",
	ReasonUndecided:             "try again; if it stays so, the guard's log says why",
	ReasonSubresourceNotAllowed: "change the object itself, signed",
	ReasonUnknownToGit:          "delete it, or have it reviewed and signed anew",
	ReasonUnreadable:            "delete it, or have it reviewed and signed in a version that the API server serves",
	ReasonConversion:            "apply the definition of Kyverno again, with spec.conversion.strategy: None, and find out who changed it; polex-guard check says more",
}

// Codes of HTTP that a denial has where it is no plain refusal.
var codes = map[string]int32{
	ReasonTooLarge:   413,
	ReasonOverloaded: 429,
	ReasonUndecided:  500,
}

// allows reports whether a reason is that of an answer that allows.
func allows(reason string) bool {
	return slices.Contains([]string{ReasonVerified, ReasonDeleted, ReasonReleased, ReasonStatus, ReasonUnchanged}, reason)
}

// Reasons returns the reasons that only the guard refuses for.
func Reasons() []string {
	return []string{
		ReasonMalformed, ReasonTooLarge, ReasonOperationNotAllowed, ReasonSubresourceNotAllowed, ReasonConverted, ReasonWrongObject,
		ReasonGeneratedName, ReasonBeingDeleted, ReasonNamespaceNotAllowed, ReasonAnotherCluster, ReasonNoCluster, ReasonReachesGuard,
		ReasonRollback, ReasonTooMany, ReasonOverloaded, ReasonUndecided, ReasonUnknownToGit, ReasonUnreadable, ReasonConversion,
	}
}
