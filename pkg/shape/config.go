package shape

import (
	"errors"
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

// The statements that [Config.Require] can require.
const (
	RequireReason   = "reason"
	RequireTicket   = "ticket"
	RequireOwner    = "owner"
	RequireCategory = "category"
)

// Statements lists the statements that [Config.Require] can name.
func Statements() []string {
	return []string{RequireReason, RequireTicket, RequireOwner, RequireCategory}
}

// Config holds the settings of a [Checker]. [Baseline] and [Strict] are places to start
// from.
type Config struct {
	// Locate returns the position of a setting in the file, for errors; nil if there is no file.
	Locate func(at ...any) exception.Position
	// Terms are those of the trust policy, which define the expiry of an exception.
	Terms lifetime.Terms
	// Statements are the team's own keys for the reason, the ticket and the owner.
	Statements exception.StatementKeys
	// InsecureAllowUnbounded permits an exception without an expiry.
	InsecureAllowUnbounded bool
	// MaxLifetime is the longest lifetime; zero sets no limit.
	MaxLifetime time.Duration
	// Limits are shorter maxima for some exceptions. Every limit that concerns an
	// exception applies, besides MaxLifetime.
	Limits []Limit
	// Renewals are further rules for an exception that renews another one.
	Renewals Renewals
	// Require names the required statements, of [Statements].
	Require []string
	// Namespaces are the names or patterns of the namespaces that an exception may be in; none
	// means any.
	Namespaces []string
	// MaxPolicies is the maximum number of policies that one exception may name; zero sets no
	// limit.
	MaxPolicies int
	// RequireNames, RequireNamespaces and RequireSubjects require names, namespaces, or
	// subjects (or roles) in every filter of a kyverno.io exception.
	RequireNames      bool
	RequireNamespaces bool
	RequireSubjects   bool
	// Levels are the levels of findings, by reason. Those with [Reason.Fixed] cannot be
	// changed.
	Levels map[string]Level
	// GuardPolicies and GuardNamespaces are names or patterns that no exception
	// may reach, on top of polex's and Kyverno's own.
	GuardPolicies   []string
	GuardNamespaces []string
	// AllowInKyverno are exact exceptions that may exempt resources in the namespace kyverno.
	// They repeat the configuration of polex-guard, and admit nothing in a cluster.
	AllowInKyverno []Admission
	// KyvernoVersion is the release that the exception is for, such as 1.19 or
	// v1.19.1. An exception that this release ignores or does not serve is rejected, and so
	// is a field that it drops. Empty skips these checks.
	KyvernoVersion string
	// Policies are the known policies. Nil means that they are unknown; the checks that need them
	// are skipped.
	Policies *PolicySet
	// Resources are the resources that exceptions may exempt; nil means that they are
	// unknown.
	Resources *ResourceSet
}

// Admission is one of [Config.AllowInKyverno].
type Admission = kyverno.Admission

// Renewals are rules for an exception that states that it renews another one. A new request for the
// same exemption is not a renewal: it overlaps with the live exception, and needs a decision of its
// own.
type Renewals struct {
	Max         int           // the maximum in a row; zero sets no limit
	MaxLifetime time.Duration // of each; zero means that of any exception
	Require     []string      // of [Statements], besides [Config.Require]
}

// Limit is a maximum lifetime for the exceptions from some policies, or for resources in some
// namespaces. An empty list means any.
type Limit struct {
	MaxLifetime time.Duration
	Policies    []string // names or patterns
	Namespaces  []string // names or patterns; of the exempted resources
}

// Checker checks the shape of documents. It can be used by several goroutines.
type Checker struct {
	config     Config
	guard      kyverno.Guard
	language   *expression.Language // of match conditions
	release    kyverno.Release
	severities map[string]Severity
}

// New returns a checker, or an error if the configuration is invalid.
func New(c Config) (*Checker, error) {
	checker, err := newChecker(c)
	if err != nil && c.Locate != nil {
		var of *settingError
		at := []any{}
		if errors.As(err, &of) {
			at = of.at
		}
		return nil, fmt.Errorf("%s: shape: %w", c.Locate(at...), err)
	}
	return checker, err
}

// settingError is an error about the value of a setting.
type settingError struct {
	error
	at []any
}

func in(err error, at ...any) error { return &settingError{err, at} }

func newChecker(c Config) (*Checker, error) {
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
		return nil, in(err, "kyvernoVersion")
	}
	conditions, err := expression.ForConditions()
	if err != nil {
		return nil, err
	}
	return &Checker{config: c, guard: guard, language: conditions, release: release, severities: severities()}, nil
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
			return in(fmt.Errorf("limit %d has no maximum lifetime", i+1), "limits", i)
		}
		if len(limit.Policies) == 0 && len(limit.Namespaces) == 0 {
			return in(fmt.Errorf("limit %d names no policies or namespaces: use maxLifetime for all exceptions", i+1), "limits", i)
		}
		if slices.Contains(slices.Concat(limit.Policies, limit.Namespaces), "") {
			return in(fmt.Errorf("limit %d has an empty name", i+1), "limits", i)
		}
	}
	return nil
}

func checkRequired(c *Config) error {
	for _, what := range slices.Concat(c.Require, c.Renewals.Require) {
		if !slices.Contains(Statements(), what) {
			return fmt.Errorf("require: %q is not one of %s", what, strings.Join(Statements(), ", "))
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
		return in(fmt.Errorf("namespaces: %w", err), "namespaces")
	}
	return nil
}
