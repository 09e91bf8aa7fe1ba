package shape

import "github.com/polex-dev/polex/pkg/exception"

// check is one check of exceptions.
type check struct {
	Title   string // in docs/reference/reasons.md; "" is that of its first reason
	About   string // likewise, in Markdown
	Reasons []Reason
	// Run adds findings. It is nil if a [Set] does the check, or [Checker.Check] does it
	// before all others.
	Run func(*subject)
}

// Reason is the stable name of a kind of finding, with a line about it.
type Reason = exception.Reason

// checks are run over every PolicyException, in this order.
var checks = []check{
	notAnExceptionCheck,
	signaturePresentCheck,
	schemaCheck,
	backgroundUserInfoCheck,
	badUserInfoCheck,
	badSelectorCheck,
	badPodSecurityCheck,
	unknownPolicyKindCheck,
	ignoredAPICheck,
	namesNothingCheck,
	badExpressionCheck,
	matchesEverythingCheck,
	conditionsMatchEverythingCheck,
	wildcardMatchCheck,
	wildcardImageCheck,
	scopeCheck,
	wildcardPolicyCheck,
	wildcardRuleCheck,
	reachesGuardCheck,
	reachesGuardPolicyCheck,
	unknownPolicyCheck,
	unknownRuleCheck,
	autogenRulesCheck,
	uselessPodSecurityCheck,
	exemptsNothingCheck,
	lifetimeCheck,
	renewalCheck,
	statementsCheck,
	claimsReviewCheck,
	hiddenCharacterCheck,
	lookAlikeCheck,
	duplicateIdentityCheck,
	overlappingCheck,
	supersededLiveCheck,
}

// Reasons lists every reason that a [Finding] can have.
func Reasons() []Reason {
	var all []Reason
	for _, c := range checks {
		all = append(all, c.Reasons...)
	}
	return all
}

// severities are those of the reasons.
func severities() map[string]Severity {
	all := map[string]Severity{}
	for _, r := range Reasons() {
		all[r.Name] = r.Severity
	}
	return all
}
