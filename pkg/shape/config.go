package shape

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/expression"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// The statements that [Config.Require] can require.
const (
	RequireReason   = "reason"
	RequireTicket   = "ticket"
	RequireOwner    = "owner"
	RequireCategory = "category"
)

// Config holds the settings of a [Checker]. [Baseline] and [Strict] are places to start
// from.
type Config struct {
	// Locate returns the position of a key in the file, by its path, for errors; nil if there is no file.
	Locate func(at ...any) exception.Position
	// Rules are those of the trust policy: the expiry, the lifetime and the renewals of an exception.
	Rules policyfile.Rules
	// Statements are the team's own keys for the reason, the ticket and the owner.
	Statements exception.StatementKeys
	// Require names the required statements, of [exception.StatementNames].
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
		at := []any{"shape"}
		if errors.As(err, &of) {
			at = of.at
		}
		return nil, fmt.Errorf("%s: %v: %w", c.Locate(at...), at[0], err)
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
	for _, check := range []func(*Config) error{checkRequired, checkPlaces, checkLevels} {
		if err := check(&c); err != nil {
			return nil, err
		}
	}
	guard, err := kyverno.NewGuard(c.GuardPolicies, c.GuardNamespaces)
	if err != nil {
		return nil, in(err, "guard")
	}
	if guard, err = guard.Knowing(c.Policies).Admitting(c.AllowInKyverno); err != nil {
		return nil, in(err, "guard", "allowInKyverno")
	}
	release, err := kyverno.ParseRelease(c.KyvernoVersion)
	if err != nil {
		return nil, in(err, "shape", "kyvernoVersion")
	}
	conditions, err := expression.ForConditions()
	if err != nil {
		return nil, err
	}
	return &Checker{config: c, guard: guard, language: conditions, release: release, severities: severities()}, nil
}

func checkRequired(c *Config) error {
	if c.Rules.Longest < 0 || c.Rules.Renewals.Max < 0 || c.Rules.Renewals.MaxLifetime < 0 {
		return errors.New("a maximum of the trust policy is negative")
	}
	for _, what := range slices.Concat(c.Require, c.Rules.Renewals.Require) {
		if !slices.Contains(exception.StatementNames(), what) {
			return fmt.Errorf("require: %q is not one of %s", what, strings.Join(exception.StatementNames(), ", "))
		}
	}
	c.Require = slices.Clone(c.Require)
	return nil
}

func checkPlaces(c *Config) error {
	if c.MaxPolicies < 0 {
		return fmt.Errorf("maxPolicies is negative: %d", c.MaxPolicies)
	}
	if err := wildcard.Names(c.Namespaces).Check(wildcard.NamespaceForm); err != nil {
		return in(fmt.Errorf("namespaces: %w", err), "shape", "namespaces")
	}
	return nil
}
