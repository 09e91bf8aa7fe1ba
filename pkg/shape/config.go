package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// What an exception can be asked to say, for [Config.Require].
const (
	RequireReason   = "reason"
	RequireTicket   = "ticket"
	RequireOwner    = "owner"
	RequireCategory = "category"
)

// Statements lists what [Config.Require] can name.
func Statements() []string {
	return []string{RequireReason, RequireTicket, RequireOwner, RequireCategory}
}

// Config says what is asked of an exception beyond what is asked of any.
// [Baseline] and [Strict] are places to start from.
type Config struct {
	// Terms are the trust policy's: what the expiry of an exception is read by.
	Terms lifetime.Terms
	// Statements are the team's own keys for the reason, the ticket and the owner.
	Statements exception.StatementKeys
	// InsecureAllowUnbounded permits an exception without an expiry.
	InsecureAllowUnbounded bool
	// MaxLifetime is the furthest that an expiry may be away; zero is no limit.
	MaxLifetime time.Duration
	// Limits are shorter maxima for some exceptions. Every one that concerns an
	// exception holds, besides MaxLifetime.
	Limits []Limit
	// DefaultSeverity is that of a policy which states none that is known; empty is any
	// severity, so that every limit for one holds.
	DefaultSeverity string
	// Renewals say what is asked of an exception that renews another one, besides.
	Renewals Renewals
	// Require names what an exception has to say, of [Statements].
	Require []string
	// Namespaces are the names or patterns of the namespaces that an exception
	// may live in; none is any.
	Namespaces []string
	// MaxPolicies is how many policies one exception may except from; zero is no
	// limit.
	MaxPolicies int
	// RequireNames, RequireNamespaces and RequireSubjects ask every filter of a
	// kyverno.io exception to say names, namespaces, or who sends the request.
	RequireNames      bool
	RequireNamespaces bool
	RequireSubjects   bool
	// Levels changes how much a finding weighs, by reason. Those that
	// [Reason.Fixed] says cannot be changed.
	Levels map[string]Level
	// GuardPolicies and GuardNamespaces are names or patterns that no exception
	// may reach, on top of polex's and Kyverno's own.
	GuardPolicies   []string
	GuardNamespaces []string
	// AllowInKyverno are exact exceptions that may exempt resources in the namespace kyverno.
	// They repeat what polex-guard admits there, and admit nothing in a cluster.
	AllowInKyverno []Admission
	// Rules are checks of one's own, in CEL.
	Rules []Rule
	// KyvernoVersion is the release that the exception is for, such as 1.19 or
	// v1.19.1: what that release ignores, does not serve or drops is refused.
	// Empty is not to ask.
	KyvernoVersion string
	// Definitions are those of the cluster; nil is Kyverno 1.19.1's.
	Definitions *exception.Definitions
	// Policies are the policies that exceptions are from; nil means that they
	// are not known, and that nothing about them is checked.
	Policies *PolicySet
	// Resources are what exceptions may exempt; nil means that they are not
	// known.
	Resources *ResourceSet
}

// Admission is one of [Config.AllowInKyverno].
type Admission = kyverno.Admission

// Renewals is what is asked of an exception that says that it renews another one. One
// that is requested anew, for the same, does not count as that: it overlaps with the
// one that is live, and is a decision of its own.
type Renewals struct {
	Max         int           // how many there may be in a row; zero is no limit
	MaxLifetime time.Duration // of each; zero is that of any exception
	Require     []string      // of [Statements], besides [Config.Require]
}

// Limit is a maximum lifetime for the exceptions from some policies, about
// resources in some namespaces, or from policies of some severity. An empty list
// is any. Severities need [Config.Policies].
type Limit struct {
	MaxLifetime time.Duration
	Policies    []string // names or patterns
	Namespaces  []string // names or patterns; of the exempted resources
	Severities  []string // of a policy, as its annotation policies.kyverno.io/severity has it
}

// Checker checks the shape of documents. It can be used by several goroutines.
type Checker struct {
	config     Config
	guard      kyverno.Guard
	language   *expression.Language // of match conditions
	rules      []compiledRule
	release    kyverno.Release
	severities map[string]Severity
}

// New returns a checker, or an error when the configuration cannot be meant.
func New(c Config) (*Checker, error) {
	for _, check := range []func(*Config) error{checkLifetimes, checkRequired, checkPlaces, checkLevels} {
		if err := check(&c); err != nil {
			return nil, err
		}
	}
	guard, err := kyverno.NewGuard(c.GuardPolicies, c.GuardNamespaces)
	if err != nil {
		return nil, err
	}
	if guard, err = guard.Knowing(c.Policies).Admitting(c.AllowInKyverno); err != nil {
		return nil, err
	}
	release, err := kyverno.ParseRelease(c.KyvernoVersion)
	if err != nil {
		return nil, err
	}
	conditions, err := expression.ForConditions()
	if err != nil {
		return nil, err
	}
	rules, err := compileRules(c.Rules)
	if err != nil {
		return nil, err
	}
	c.Rules = nil // compiled
	return &Checker{config: c, guard: guard, language: conditions, rules: rules, release: release, severities: severities()}, nil
}

func checkLifetimes(c *Config) error {
	if c.Renewals.Max < 0 || c.Renewals.Max > exception.MaxRenewals || c.Renewals.MaxLifetime < 0 {
		return fmt.Errorf("renewals: max %d or maxLifetime %s is out of range", c.Renewals.Max, c.Renewals.MaxLifetime)
	}
	if c.MaxLifetime < 0 {
		return fmt.Errorf("the maximum lifetime %s is negative", c.MaxLifetime)
	}
	for i, limit := range c.Limits {
		if limit.MaxLifetime <= 0 {
			return fmt.Errorf("limit %d has no maximum lifetime", i+1)
		}
		if len(limit.Policies) == 0 && len(limit.Namespaces) == 0 && len(limit.Severities) == 0 {
			return fmt.Errorf("limit %d names no policies, namespaces or severities: use maxLifetime for all exceptions", i+1)
		}
		if len(limit.Severities) > 0 && c.Policies == nil {
			return fmt.Errorf("limit %d has severities, which require the policies: set directories.policies or --policies", i+1)
		}
		if slices.Contains(slices.Concat(limit.Policies, limit.Namespaces, limit.Severities), "") {
			return fmt.Errorf("limit %d has an empty name", i+1)
		}
	}
	return nil
}

func checkRequired(c *Config) error {
	for _, what := range slices.Concat(c.Require, c.Renewals.Require) {
		if !slices.Contains(Statements(), what) {
			return fmt.Errorf("%q cannot be required, only %s", what, strings.Join(Statements(), ", "))
		}
	}
	c.Require, c.Renewals.Require = slices.Clone(c.Require), slices.Clone(c.Renewals.Require)
	return nil
}

func checkPlaces(c *Config) error {
	if c.MaxPolicies < 0 {
		return fmt.Errorf("maxPolicies is negative: %d", c.MaxPolicies)
	}
	if err := wildcard.Names(c.Namespaces).Check(wildcard.NamespaceForm); err != nil {
		return fmt.Errorf("namespaces: %w", err)
	}
	return nil
}
