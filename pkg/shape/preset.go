package shape

import (
	"time"

	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Baseline is the preset for any exception: the zero [Config].
func Baseline() Config { return Config{} }

// Strict requires exceptions that an auditor understands without a question. Each is from one
// policy, for named resources in named namespaces, for at most thirty days, with its reason, ticket
// and owner, and without a pattern for rules.
func Strict() Config {
	return Config{
		Rules:             policyfile.Rules{Longest: 30 * 24 * time.Hour},
		Require:           []string{RequireReason, RequireTicket, RequireOwner},
		MaxPolicies:       1,
		RequireNames:      true,
		RequireNamespaces: true,
		Levels: map[string]Level{
			ReasonWildcardPolicy:  LevelError,
			ReasonWildcardRule:    LevelError,
			reasonWildcardImage:   LevelError,
			ReasonNotProvenNarrow: LevelError,
		},
	}
}

// Preset returns the configuration called "baseline" or "strict".
func Preset(name string) (Config, bool) {
	switch name {
	case "baseline":
		return Baseline(), true
	case "strict":
		return Strict(), true
	default:
		return Config{}, false
	}
}
