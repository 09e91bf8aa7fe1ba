package shape

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// checks are run over every PolicyException, in this order.
var checks = []func(*subject, time.Time){
	(*subject).alreadySealed,
	(*subject).schema,
	(*subject).backgroundUserInfo,
	(*subject).badUserInfo,
	(*subject).badSelector,
	(*subject).badPodSecurity,
	(*subject).unknownPolicyKind,
	(*subject).namesNothing,
	(*subject).matchesEverything,
	(*subject).conditionsMatchEverything,
	(*subject).wildcardPolicy,
	(*subject).wildcardRule,
	(*subject).reachesGuard,
	(*subject).lifetime,
	(*subject).statements,
	(*subject).hiddenCharacter,
}

// The reasons of findings. Those of [exception.CheckSchema] come on top.
const (
	ReasonNotAnException    = "not-an-exception"
	ReasonAlreadySealed     = "already-sealed"
	ReasonNamesNothing      = "names-nothing"
	ReasonMatchesEverything = "matches-everything"
	ReasonWildcardPolicy    = "wildcard-policy"
	ReasonWildcardRule      = "wildcard-rule"
	ReasonReachesGuard      = "reaches-guard"
	ReasonNoExpiry          = "no-expiry"
	ReasonBadLifetime       = "bad-lifetime"
	ReasonExpired           = "expired"
	ReasonLifetimeTooLong   = "lifetime-too-long"
	ReasonMissingReason     = "missing-reason"
	ReasonMissingTicket     = "missing-ticket"
	ReasonMissingOwner      = "missing-owner"
	ReasonContradiction     = "contradiction"
	ReasonHiddenCharacter   = "hidden-character"
	ReasonDuplicateIdentity = "duplicate-identity"
)

// The reasons of what Kyverno's webhook refuses, or takes and never looks at.
const (
	ReasonBackgroundUserInfo = "background-user-info"
	ReasonBadUserInfo        = "bad-user-info"
	ReasonBadSelector        = "bad-selector"
	ReasonBadPodSecurity     = "bad-pod-security"
	ReasonUnknownPolicyKind  = "unknown-policy-kind"
)

// Reason is the stable name of what a check finds, with a line about it.
type Reason struct{ Name, Doc string }

// Reasons lists every reason that a [Finding] can have.
func Reasons() []Reason {
	return []Reason{
		{ReasonNotAnException, "the document is no PolicyException of kyverno.io or policies.kyverno.io"},
		{ReasonAlreadySealed, "the document carries a seal, and what is validated is what people write"},
		{exception.ProblemUnknownVersion, "the API group has no such version of PolicyException"},
		{exception.ProblemUnknownField, "the API server would drop a field that it does not know"},
		{exception.ProblemUnsignableField, "metadata has a field that the API server or a controller sets"},
		{exception.ProblemMissingField, "a required field is missing"},
		{exception.ProblemWrongType, "a value has another type than its field"},
		{exception.ProblemInvalidValue, "a value is none of those that its field takes"},
		{exception.ProblemNullValue, "the API server would drop a null, and the live object would differ from the signed one"},
		{exception.ProblemEmptyValue, "a value is empty that must not be, or that the API server would drop"},
		{ReasonBackgroundUserInfo, "Kyverno would refuse roles or subjects in an exception that is for background scans too"},
		{ReasonBadUserInfo, "Kyverno would refuse the form of a role or subject"},
		{ReasonBadSelector, "Kyverno would refuse a label selector, or match nothing with it"},
		{ReasonBadPodSecurity, "Kyverno would refuse a podSecurity entry"},
		{ReasonUnknownPolicyKind, "no exception of this API group reaches policies of that kind"},
		{ReasonNamesNothing, "the exception names no policy or no rule"},
		{ReasonMatchesEverything, "the exception does not say which resources it is for"},
		{ReasonWildcardPolicy, "a policy is named by a pattern"},
		{ReasonWildcardRule, "a rule is named by a pattern"},
		{ReasonReachesGuard, "the exception reaches what decides about exceptions"},
		{ReasonNoExpiry, "the exception does not say when it ends"},
		{ReasonBadLifetime, "what the exception says of its lifetime cannot be read or contradicts itself"},
		{ReasonExpired, "the exception has ended already"},
		{ReasonLifetimeTooLong, "the exception lives longer than is allowed"},
		{ReasonMissingReason, "the exception does not say why it is needed"},
		{ReasonMissingTicket, "the exception names no ticket"},
		{ReasonMissingOwner, "the exception names no owner"},
		{ReasonContradiction, "a field and an annotation say different things"},
		{ReasonHiddenCharacter, "a character is not what a reader sees"},
		{ReasonDuplicateIdentity, "two documents are the same object to the API server"},
	}
}
