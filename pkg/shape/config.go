package shape

import (
	"fmt"
	"slices"
	"time"
)

// DefaultMaxLifetime is how long an exception may live when nothing else is
// said.
const DefaultMaxLifetime = 90 * 24 * time.Hour

// What an exception can be asked to say, for [Config.Require].
const (
	RequireReason = "reason"
	RequireTicket = "ticket"
	RequireOwner  = "owner"
)

// Guards that are always guarded, whatever a [Config] adds.
var (
	guardPolicies   = []string{"polex-*", "validate-polex"}
	guardNamespaces = []string{"polex-system", "kyverno"}
)

// Config says what is asked of an exception beyond what is asked of any. The
// zero value is the strictest.
type Config struct {
	// AllowUnbounded permits an exception without an expiry.
	AllowUnbounded bool
	// MaxLifetime is the furthest that an expiry may be away. Zero is
	// [DefaultMaxLifetime], or no limit with AllowUnbounded.
	MaxLifetime time.Duration
	// Require names what an exception must say: reason, ticket, owner. Nil is
	// the reason; an empty list is nothing.
	Require []string
	// GuardPolicies and GuardNamespaces are names or patterns that no exception
	// may reach, on top of polex's and Kyverno's own.
	GuardPolicies   []string
	GuardNamespaces []string
}

// Checker checks the shape of documents. It can be used by several goroutines.
type Checker struct{ config Config }

// New returns a checker, or an error when the configuration cannot be meant.
func New(c Config) (*Checker, error) {
	if c.MaxLifetime < 0 {
		return nil, fmt.Errorf("the maximum lifetime %s is negative", c.MaxLifetime)
	}
	if c.MaxLifetime == 0 && !c.AllowUnbounded {
		c.MaxLifetime = DefaultMaxLifetime
	}
	if c.Require == nil {
		c.Require = []string{RequireReason}
	}
	for _, what := range c.Require {
		if !slices.Contains([]string{RequireReason, RequireTicket, RequireOwner}, what) {
			return nil, fmt.Errorf("%q cannot be required: reason, ticket and owner can", what)
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
