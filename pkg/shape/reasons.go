package shape

import (
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
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
	(*subject).ignoredAPI,
	(*subject).namesNothing,
	(*subject).badExpression,
	(*subject).matchesEverything,
	(*subject).conditionsMatchEverything,
	(*subject).wildcardMatch,
	(*subject).wildcardImage,
	(*subject).scope,
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
	(*subject).renewal,
	(*subject).statements,
	(*subject).claimsReview,
	(*subject).hiddenCharacter,
	(*subject).lookAlike,
	(*subject).customRules,
}

// The reasons of findings. Those of [exception.CheckSchema] come on top.
const (
	ReasonNotAnException     = "not-an-exception"
	ReasonAlreadySealed      = "already-sealed"
	ReasonIgnoredAPI         = "ignored-api"
	ReasonNamesNothing       = "names-nothing"
	ReasonBadExpression      = "bad-expression"
	ReasonMatchesEverything  = "matches-everything"
	ReasonNotProvenNarrow    = "not-proven-narrow"
	ReasonWildcardPolicy     = "wildcard-policy"
	ReasonWildcardRule       = "wildcard-rule"
	ReasonWildcardMatch      = "wildcard-match"
	ReasonWildcardImage      = "wildcard-image"
	ReasonWrongNamespace     = "wrong-namespace"
	ReasonTooManyPolicies    = "too-many-policies"
	ReasonMissingNames       = "missing-names"
	ReasonMissingNamespaces  = "missing-namespaces"
	ReasonMissingSubjects    = "missing-subjects"
	ReasonReachesGuard       = kyverno.ReasonReachesGuard
	ReasonNoExpiry           = "no-expiry"
	ReasonBadLifetime        = "bad-lifetime"
	ReasonExpired            = "expired"
	ReasonLifetimeTooLong    = "lifetime-too-long"
	ReasonBadRenewal         = "bad-renewal"
	ReasonTooManyRenewals    = "too-many-renewals"
	ReasonMissingReason      = "missing-reason"
	ReasonMissingTicket      = "missing-ticket"
	ReasonMissingOwner       = "missing-owner"
	ReasonMissingCategory    = "missing-category"
	ReasonBadCategory        = "bad-category"
	ReasonClaimsReview       = "claims-review"
	ReasonContradiction      = "contradiction"
	ReasonHiddenCharacter    = "hidden-character"
	ReasonLookAlike          = "look-alike"
	ReasonDuplicateIdentity  = "duplicate-identity"
	ReasonUnknownPolicy      = "unknown-policy"
	ReasonUnknownRule        = "unknown-rule"
	ReasonAutogenRules       = "autogen-rules"
	ReasonOverlaps           = "overlaps"
	ReasonSuperseded         = "superseded"
	ReasonExemptsNothing     = "exempts-nothing"
	ReasonUselessPodSecurity = "useless-pod-security"
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
type Reason struct {
	Name, Doc string
	// Fixed says that no configuration switches it off or makes it a warning:
	// the exception could not be signed or applied, or would reach its guard.
	Fixed bool
}

// Reasons lists every reason that a [Finding] can have, but for the names of
// [Config.Rules].
func Reasons() []Reason {
	return []Reason{
		{ReasonNotAnException, "the document is no PolicyException of kyverno.io or policies.kyverno.io", true},
		{ReasonAlreadySealed, "the document carries a seal, and what is validated is what people write", true},
		{exception.ProblemUnknownVersion, "the API group has no such version of PolicyException", true},
		{exception.ProblemUnknownField, "the API server would drop a field that it does not know", true},
		{exception.ProblemUnsignableField, "metadata has a field that the API server or a controller sets", true},
		{exception.ProblemMissingField, "a required field is missing", true},
		{exception.ProblemWrongType, "a value has another type than its field", true},
		{exception.ProblemInvalidValue, "a value is none of those that its field takes", true},
		{exception.ProblemNullValue, "the API server would drop a null, and the live object would differ from the signed one", true},
		{exception.ProblemEmptyValue, "a value is empty that must not be, or that the API server would drop", true},
		{ReasonBackgroundUserInfo, "Kyverno would refuse roles or subjects in an exception that is for background scans too", true},
		{ReasonBadUserInfo, "Kyverno would refuse the form of a role or subject", true},
		{ReasonBadSelector, "Kyverno would refuse a label selector, or match nothing with it", true},
		{ReasonBadPodSecurity, "Kyverno would refuse a podSecurity entry", true},
		{ReasonUnknownPolicyKind, "no exception of this API group reaches policies of that kind", true},
		{ReasonIgnoredAPI, "Kyverno ignores this kind of exception, or will", false},
		{ReasonNamesNothing, "the exception names no policy or no rule", false},
		{ReasonBadExpression, "a match condition is no CEL expression that Kyverno would take", true},
		{ReasonMatchesEverything, "the exception does not say which resources it is for", false},
		{ReasonNotProvenNarrow, "the match conditions are in a form that is not recognised, and may be about any resource", false},
		{ReasonWildcardMatch, "a name, a namespace or a selector restricts nothing", false},
		{ReasonWildcardPolicy, "a policy is named by a pattern", false},
		{ReasonWildcardRule, "a rule is named by a pattern", false},
		{ReasonWildcardImage, "an image or an allowed value stands for anything", false},
		{ReasonReachesGuard, "the exception reaches what decides about exceptions", true},
		{ReasonWrongNamespace, "exceptions do not live in this namespace", false},
		{ReasonTooManyPolicies, "the exception names more policies than one may", false},
		{ReasonMissingNames, "a filter names no resources", false},
		{ReasonMissingNamespaces, "a filter names no namespaces", false},
		{ReasonMissingSubjects, "a filter does not say who sends the request", false},
		{ReasonNoExpiry, "the exception does not say when it ends", false},
		{ReasonBadLifetime, "what the exception says of its lifetime cannot be read or contradicts itself", true},
		{ReasonExpired, "the exception has ended already", true},
		{ReasonLifetimeTooLong, "the exception lives longer than is allowed", false},
		{ReasonBadRenewal, "what the exception says of the one that it renews cannot be read", true},
		{ReasonTooManyRenewals, "the exception has been renewed more often than is allowed", false},
		{ReasonMissingReason, "the exception does not say why it is needed", false},
		{ReasonMissingTicket, "the exception names no ticket", false},
		{ReasonMissingOwner, "the exception names no owner", false},
		{ReasonMissingCategory, "the exception does not say whether it is a waiver or mitigated", false},
		{ReasonBadCategory, "the category is neither waiver nor mitigated", false},
		{ReasonClaimsReview, "the request says itself who asked for it or approved it, or where", false},
		{ReasonContradiction, "a field and an annotation say different things", true},
		{ReasonHiddenCharacter, "a character is not what a reader sees", false},
		{ReasonLookAlike, "two names differ in what a reader does not see", false},
		{ReasonDuplicateIdentity, "two documents are the same object to the API server", true},
		{ReasonUnknownPolicy, "there is no such policy", false},
		{ReasonUnknownRule, "the policy has no such rule", false},
		{ReasonAutogenRules, "the rules that are named are not those for the kinds that are matched", false},
		{ReasonOverlaps, "another exception exempts the same resources from the same rule", false},
		{ReasonSuperseded, "the exception takes the place of a live one", false},
		{ReasonExemptsNothing, "none of the resources given would be exempt", false},
		{ReasonUselessPodSecurity, "controls of Pod security are named for rules that do not check them, and the rules are skipped whole", false},
	}
}
