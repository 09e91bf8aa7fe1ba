package trust

import (
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Config and the types below it are the written trust policy.
type (
	Config              = policyfile.Config
	AuthorityConfig     = policyfile.AuthorityConfig
	LimitsConfig        = policyfile.LimitsConfig
	RenewalLimitsConfig = policyfile.RenewalLimitsConfig
	GroupConfig         = policyfile.GroupConfig
	LifetimeConfig      = policyfile.LifetimeConfig
	RevocationConfig    = policyfile.RevocationConfig
	ExpiryConfig        = policyfile.ExpiryConfig
	Grandfather         = policyfile.Grandfather
	AllowedMetadata     = policyfile.AllowedMetadata
	Kinds               = policyfile.Kinds
)

// MaxSigners is [policyfile.MaxSigners].
const MaxSigners = policyfile.MaxSigners

// Read is [policyfile.Read].
func Read(doc *exception.Document, dir string) (Config, error) { return policyfile.Read(doc, dir) }

// NewKinds is [policyfile.NewKinds].
func NewKinds(kinds []string) (Kinds, error) { return policyfile.NewKinds(kinds) }

// CheckAdded is [policyfile.CheckAdded].
func CheckAdded(field, key, value string) error { return policyfile.CheckAdded(field, key, value) }
