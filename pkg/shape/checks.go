package shape

import (
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/pkg/exception"
)

// check is one check of exceptions.
type check struct {
	Title   string // in docs/reference/reasons.md; "" is that of its first reason
	About   string // likewise, in Markdown
	Reasons []Reason
	// Run adds findings. It is nil if a [Set] does the check, or [Checker.Check] does it before all others.
	Run func(*subject)
}

// Reason is the stable name of a kind of finding, with a line about it.
type Reason = exception.Reason

// checks are run over every PolicyException, in this order.
var checks = []check{
	notAnExceptionCheck, signaturePresentCheck, schemaCheck, backgroundUserInfoCheck, badUserInfoCheck,
	badSelectorCheck, badPodSecurityCheck, unknownPolicyKindCheck, ignoredAPICheck, namesNothingCheck,
	badExpressionCheck, matchesEverythingCheck, conditionsMatchEverythingCheck, wildcardMatchCheck,
	wildcardImageCheck, scopeCheck, wildcardPolicyCheck, wildcardRuleCheck, reachesGuardCheck,
	reachesGuardPolicyCheck, limitsCheck, unknownPolicyCheck, unknownRuleCheck, neverMatchesCheck, unknownKindCheck,
	mayFailCheck, widerCheck, autogenRulesCheck, uselessPodSecurityCheck, exemptsNothingCheck, lifetimeCheck,
	renewalCheck, statementsCheck, unknownAnnotationCheck, toolMetadataCheck, directiveCheck, claimsReviewCheck,
	hiddenCharacterCheck, lookAlikeCheck, duplicateIdentityCheck, overlappingCheck, supersededLiveCheck,
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

// Check returns the findings of one document, sorted by position, or nil. A document
// that is not a PolicyException has that one finding.
func (c *Checker) Check(d *exception.Document, now time.Time) []Finding {
	s := &subject{config: &c.config, guard: c.guard, release: c.release, Doc: d, now: now, severities: c.severities,
		counts: map[string]int{}, language: c.language}
	if s.Stated, s.Exception = read(d); s.Stated == nil {
		s.notAnException()
		return s.found
	}
	c.config.Statements.Fill(s.Stated, d)
	if schema.Foreign(d) != nil {
		s.schema() // other checks would miss what these fields say
		return s.found
	}
	for _, c := range checks {
		if c.Run != nil {
			c.Run(s)
		}
	}
	return sorted(s.found)
}

// read returns the statements of an exception and its scope, or nil.
func read(d *exception.Document) (*exception.Exception, *kyverno.Exception) {
	stated, _ := d.Exception()
	return stated, kyverno.Read(d)
}
