package trust

import (
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// The parts of a written trust policy.
type (
	// Config is [policyfile.Config].
	Config = policyfile.Config
	// AuthorityConfig is [policyfile.AuthorityConfig].
	AuthorityConfig = policyfile.AuthorityConfig
	// GitHubConfig is [policyfile.GitHubConfig].
	GitHubConfig = policyfile.GitHubConfig
	// Values is [policyfile.Values].
	Values = policyfile.Values
	// Numbers is [policyfile.Numbers].
	Numbers = policyfile.Numbers
	// Selectors is [policyfile.Selectors].
	Selectors = policyfile.Selectors
	// RenewalsConfig is [policyfile.RenewalsConfig].
	RenewalsConfig = policyfile.RenewalsConfig
	// GroupConfig is [policyfile.GroupConfig].
	GroupConfig = policyfile.GroupConfig
	// LifetimeConfig is [policyfile.LifetimeConfig].
	LifetimeConfig = policyfile.LifetimeConfig
	// RevocationConfig is [policyfile.RevocationConfig].
	RevocationConfig = policyfile.RevocationConfig
	// ExpiryConfig is [policyfile.ExpiryConfig].
	ExpiryConfig = policyfile.ExpiryConfig
	// Grandfather is [policyfile.Grandfather].
	Grandfather = policyfile.Grandfather
	// AllowedMetadata is [policyfile.AllowedMetadata].
	AllowedMetadata = policyfile.AllowedMetadata
	// Kinds is [policyfile.Kinds].
	Kinds = policyfile.Kinds
)

// MaxSigners is [policyfile.MaxSigners].
const MaxSigners = policyfile.MaxSigners

// Read is [policyfile.Read].
func Read(doc *exception.Document, dir string) (Config, error) { return policyfile.Read(doc, dir) }

// NewKinds is [policyfile.NewKinds].
func NewKinds(kinds []string) (Kinds, error) { return policyfile.NewKinds(kinds) }

// CheckAdded is [policyfile.CheckAdded].
func CheckAdded(field, key, value string) error { return policyfile.CheckAdded(field, key, value) }

// WriterOf is [policyfile.WriterOf].
func WriterOf(key, value string) string { return policyfile.WriterOf(key, value) }
