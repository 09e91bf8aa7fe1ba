package shape

import (
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// checks are run over every PolicyException, in this order.
var checks = []func(*subject, time.Time){
	(*subject).alreadySealed,
	(*subject).schema,
	(*subject).namesNothing,
	(*subject).matchesEverything,
	(*subject).conditionsMatchEverything,
	(*subject).wildcardPolicy,
	(*subject).wildcardRule,
	(*subject).reachesGuard,
	(*subject).reachesGuardPolicy,
	(*subject).unknownPolicy,
	(*subject).unknownRule,
	(*subject).autogenRules,
	(*subject).uselessPodSecurity,
	(*subject).exemptsNothing,
	(*subject).lifetime,
	(*subject).statements,
	(*subject).hiddenCharacter,
}

// The reasons of findings. Those of [exception.CheckSchema] come on top.
const (
	ReasonNotAnException     = "not-an-exception"
	ReasonAlreadySealed      = "already-sealed"
	ReasonNamesNothing       = "names-nothing"
	ReasonMatchesEverything  = "matches-everything"
	ReasonWildcardPolicy     = "wildcard-policy"
	ReasonWildcardRule       = "wildcard-rule"
	ReasonReachesGuard       = "reaches-guard"
	ReasonNoExpiry           = "no-expiry"
	ReasonBadLifetime        = "bad-lifetime"
	ReasonExpired            = "expired"
	ReasonLifetimeTooLong    = "lifetime-too-long"
	ReasonMissingReason      = "missing-reason"
	ReasonMissingTicket      = "missing-ticket"
	ReasonMissingOwner       = "missing-owner"
	ReasonContradiction      = "contradiction"
	ReasonHiddenCharacter    = "hidden-character"
	ReasonDuplicateIdentity  = "duplicate-identity"
	ReasonUnknownPolicy      = "unknown-policy"
	ReasonUnknownRule        = "unknown-rule"
	ReasonAutogenRules       = "autogen-rules"
	ReasonOverlaps           = "overlaps"
	ReasonSuperseded         = "superseded"
	ReasonExemptsNothing     = "exempts-nothing"
	ReasonUselessPodSecurity = "useless-pod-security"
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
		{ReasonUnknownPolicy, "there is no such policy"},
		{ReasonUnknownRule, "the policy has no such rule"},
		{ReasonAutogenRules, "the rules that are named are not those for the kinds that are matched"},
		{ReasonOverlaps, "another exception exempts the same resources from the same rule"},
		{ReasonSuperseded, "the exception takes the place of a live one"},
		{ReasonExemptsNothing, "none of the resources given would be exempt"},
		{ReasonUselessPodSecurity, "controls of Pod security are named for rules that do not check them, and the rules are skipped whole"},
	}
}
