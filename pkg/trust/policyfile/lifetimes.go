package policyfile

import (
	"errors"
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/internal/lifetime"
)

// Lifetime is a maximum lifetime for the documents that it matches. A nil selector matches all.
type Lifetime struct {
	Policies, Namespaces Names
	Kinds                *Kinds
	Max                  time.Duration
}

func newLifetime(c LifetimeConfig) (r Lifetime, err error) {
	if c.Policies == nil && c.Namespaces == nil && c.Kinds == nil {
		return r, errors.New("it applies to every document: set policies, namespaces or kinds, or use maxLifetime")
	}
	if r.Policies, err = newNames("policies", c.Policies, policyForm); err != nil {
		return r, err
	}
	if r.Namespaces, err = newNames("namespaces", c.Namespaces, wildcard.NamespaceForm); err != nil {
		return r, err
	}
	if r.Kinds, err = newKindsIn(c.Kinds); err != nil {
		return r, err
	}
	if r.Max, err = lifetime.ParseDuration(c.Max); err != nil {
		return r, fmt.Errorf("max: %w", err)
	}
	return r, nil
}
