package shape

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What an exception can be asked to say, for [Config.Require].
const (
	RequireReason = "reason"
	RequireTicket = "ticket"
	RequireOwner  = "owner"
)

// Statements lists what [Config.Require] can name.
func Statements() []string { return []string{RequireReason, RequireTicket, RequireOwner} }

// Guards that are always guarded, whatever a [Config] adds.
var (
	guardPolicies   = []string{"polex-*", "validate-polex"}
	guardNamespaces = []string{"polex-system", "kyverno"}
)

// Config says what is asked of an exception beyond what is asked of any.
type Config struct {
	// InsecureAllowUnbounded permits an exception without an expiry.
	InsecureAllowUnbounded bool
	// MaxLifetime is the furthest that an expiry may be away; zero is no limit.
	MaxLifetime time.Duration
	// Require names what an exception has to say, of [Statements].
	Require []string
	// GuardPolicies and GuardNamespaces are names or patterns that no exception
	// may reach, on top of polex's and Kyverno's own.
	GuardPolicies   []string
	GuardNamespaces []string
	// Policies are the policies that exceptions are from; nil means that they
	// are not known, and that nothing about them is checked.
	Policies *PolicySet
	// Resources are what exceptions may exempt; nil means that they are not
	// known.
	Resources *ResourceSet
}

// Checker checks the shape of documents. It can be used by several goroutines.
type Checker struct{ config Config }

// New returns a checker, or an error when the configuration cannot be meant.
func New(c Config) (*Checker, error) {
	if c.MaxLifetime < 0 {
		return nil, fmt.Errorf("the maximum lifetime %s is negative", c.MaxLifetime)
	}
	for _, what := range c.Require {
		if !slices.Contains(Statements(), what) {
			return nil, fmt.Errorf("%q cannot be required, only %s", what, strings.Join(Statements(), ", "))
		}
	}
	for _, pattern := range slices.Concat(c.GuardPolicies, c.GuardNamespaces) {
		if pattern == "" || onlyWildcards(pattern) {
			return nil, fmt.Errorf("%q is no name to guard: it would refuse every exception or none", pattern)
		}
	}
	c.Require = slices.Clone(c.Require)
	c.GuardPolicies = slices.Concat(guardPolicies, c.GuardPolicies)
	c.GuardNamespaces = slices.Concat(guardNamespaces, c.GuardNamespaces)
	return &Checker{config: c}, nil
}
