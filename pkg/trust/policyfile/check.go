package policyfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/lifetime"
)

// MaxSigners is the maximum number of signers of one document, since it carries at most this number
// of signatures.
const MaxSigners = 8

// Rules are a checked policy, without the trusted root and the content of keys.
type Rules struct {
	Authorities []Authority
	Kinds       Kinds
	Longest     time.Duration // of any lifetime; zero means no limit
	Lifetimes   []Lifetime
	Renewals    Renewals
	Unbounded   bool // an exception needs no expiry
	Terms       lifetime.Terms
	Revoked     Revoked
}

// Check checks a policy, but neither its trusted root nor the content of its keys: trust.New does.
// A policy without authorities is valid, because the flags of a command can name them.
func Check(c Config) (Rules, error) {
	r := Rules{Unbounded: c.InsecureAllowUnbounded,
		Revoked: Revoked{Messages: map[string]bool{}, Certificates: map[string]bool{}, Before: map[string]time.Time{}}}
	var err error
	if r.Kinds, err = NewKinds(c.Kinds); err != nil {
		return Rules{}, c.Located(err, "kinds")
	}
	for i, ac := range c.Authorities {
		a, err := newAuthority(ac)
		switch {
		case err != nil:
		case len(r.Authorities) > 0 && r.has(a.Name):
			err = fmt.Errorf("two authorities are called %q", a.Name)
		default:
			err = a.Limits.check(r.Kinds)
		}
		if err != nil {
			return Rules{}, fmt.Errorf("%s: %w", ac.Called(i), err)
		}
		r.Authorities = append(r.Authorities, a)
	}
	if err := r.checkGroups(c); err != nil {
		return Rules{}, err
	}
	if c.MaxLifetime != "" {
		if r.Longest, err = lifetime.ParseDuration(c.MaxLifetime); err != nil {
			return Rules{}, c.Located(fmt.Errorf("maxLifetime: %w", err), "maxLifetime")
		}
	}
	for i, lc := range c.Lifetimes {
		rule, err := r.newLifetime(lc)
		if err != nil {
			return Rules{}, c.Located(fmt.Errorf("lifetimes %d: %w", i+1, err), "lifetimes", i)
		}
		r.Lifetimes = append(r.Lifetimes, rule)
	}
	if r.Renewals, err = newRenewals(c.Renewals); err != nil {
		return Rules{}, c.Located(fmt.Errorf("renewals: %w", err), "renewals")
	}
	if r.Terms, err = c.Terms(); err != nil {
		key, _, _ := strings.Cut(err.Error(), ":")
		key, _, _ = strings.Cut(key, " ") // grandfathered 2
		return Rules{}, c.Located(err, key)
	}
	for i, rc := range c.Revoked {
		if err := r.revoke(rc); err != nil {
			return Rules{}, c.Located(fmt.Errorf("revoked %d: %w", i+1, err), "revoked", i)
		}
	}
	return r, c.Located(c.AllowedMetadata.check(r.Terms.Keys), "allowedMetadata")
}

// has reports whether an authority has the name, or can have it: flags name the authorities of a
// policy without any.
func (r *Rules) has(name string) bool {
	return len(r.Authorities) == 0 || slices.ContainsFunc(r.Authorities,
		func(a Authority) bool { return a.Name == name })
}

// checkGroups checks the groups and rejects thresholds that no document can meet. No authority is in
// two groups.
func (r *Rules) checkGroups(c Config) error {
	groupOf, need := map[string]string{}, 0
	for i, g := range c.Groups {
		if err := r.checkGroup(g, groupOf); err != nil {
			return c.Located(fmt.Errorf("group %d %s: %w", i+1, g.Name, err), "groups", i)
		}
		if slices.ContainsFunc(c.Groups[:i], func(other GroupConfig) bool { return other.Name == g.Name }) {
			return c.Located(fmt.Errorf("two groups are called %q", g.Name), "groups", i)
		}
		need += g.Threshold
	}
	switch most := len(r.Authorities); {
	case c.Threshold < 0 || most > 0 && c.Threshold > most:
		return c.Located(fmt.Errorf("the threshold %d cannot be reached by %d authorities", c.Threshold, most),
			"threshold")
	case max(c.Threshold, need) > MaxSigners:
		return c.Located(fmt.Errorf("the thresholds require %d signers, and a document has at most %d signatures",
			max(c.Threshold, need), MaxSigners), "threshold")
	}
	return nil
}

func (r *Rules) checkGroup(g GroupConfig, groupOf map[string]string) error {
	if g.Name == "" {
		return errors.New("it has no name")
	}
	if err := checkName(g.Name); err != nil {
		return err
	}
	for _, name := range g.Authorities {
		switch other, taken := groupOf[name]; {
		case !r.has(name):
			return fmt.Errorf("there is no authority called %q", name)
		case taken && other == g.Name:
			return fmt.Errorf("it names %q twice", name)
		case taken:
			return fmt.Errorf("authority %q is in the groups %q and %q", name, other, g.Name)
		}
		groupOf[name] = g.Name
	}
	switch {
	case len(g.Authorities) == 0:
		return errors.New("it has no authorities")
	case g.Threshold < 1 || g.Threshold > len(g.Authorities):
		return fmt.Errorf("the threshold %d is not between 1 and the number of its authorities, %d", g.Threshold,
			len(g.Authorities))
	}
	return nil
}
