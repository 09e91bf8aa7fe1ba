package shape

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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

// Config holds the settings of a [Checker]. The fields with a key are the section shape of .polex.yaml; a value that
// is missing there is that of the preset. The other tags are those of internal/config.
type Config struct {
	Preset string `json:"preset" enum:"baseline strict" default:"baseline" doc:"the settings to start from"`
	// Require names the required statements, of [exception.StatementNames]. Nil means those of the preset.
	Require []string `json:"require" enum:"reason ticket owner category" default:"none; strict: reason, ticket, owner" doc:"the statements that an exception has to make"`
	// RequireInMatch is about the filters of kyverno.io. Nil means the fields of the preset.
	RequireInMatch []string `json:"requireInMatch" enum:"names namespaces subjects" default:"none; strict: names, namespaces" doc:"the fields that every filter of spec.match has to list"`
	// MaxPolicies is a maximum; 0 sets no limit, and nil means that of the preset.
	MaxPolicies *int     `json:"maxPolicies" min:"0" default:"0; strict: 1" doc:"the number of policies that one exception may name; 0 sets no limit"`
	Namespaces  []string `json:"namespaces" default:"any" doc:"the namespaces of exceptions: names, or patterns in which * is any text and ? is one character"`
	// ClusterScoped are kinds of custom resources, which only the cluster knows.
	ClusterScoped []string `json:"clusterScoped" default:"those of Kubernetes" doc:"the kinds of custom resources without a namespace, as Kind.group; such a filter needs no namespaces"`
	// Checks are the levels of findings. Those with [Reason.Fixed] cannot be changed. A preset adds levels.
	Checks map[string]Level `json:"checks" doc:"the level of a check, by its reason"`
	// KyvernoVersion may begin with v. An exception that this release ignores or does not serve is rejected, and so
	// is a field that it drops. Empty means the newest release that polex knows.
	KyvernoVersion string `json:"kyvernoVersion" default:"the newest that polex knows" doc:"the release of Kyverno, such as 1.19, that has to serve the exception"`

	_ struct{} `formerly:"defaultSeverity" instead:"name the policies in a rule of trust.lifetimes"`
	_ struct{} `formerly:"guardPolicies guardNamespaces allowInKyverno" instead:"use the key of that name in the section guard"`
	_ struct{} `formerly:"maxLifetime" instead:"use trust.maxLifetime"`
	_ struct{} `formerly:"limits" instead:"use trust.lifetimes"`
	_ struct{} `formerly:"renewals" instead:"use trust.renewals"`
	_ struct{} `formerly:"allowUnbounded" instead:"use trust.allowUnbounded"`
	_ struct{} `formerly:"rules" instead:"write a Kyverno policy on PolicyException, as in policies/shape: docs/how-to/validate.md"`

	// Locate returns the position of a key in the file, by its path, for errors; nil if there is no file.
	Locate func(at ...any) exception.Position `json:"-"`
	// Rules are those of the trust policy: the expiry, the lifetime and the renewals of an exception. The longest
	// lifetime is that of the preset if it is zero.
	Rules policyfile.Rules `json:"-"`
	// Allowed is the metadata that tools may add, of the trust policy. A request must not have it.
	Allowed policyfile.AllowedMetadata `json:"-"`
	// Statements are the team's own keys for the reason, the ticket and the owner.
	Statements exception.StatementKeys `json:"-"`
	// GuardPolicies and GuardNamespaces are names or patterns that no exception may reach, besides the built-in ones.
	GuardPolicies   []string `json:"-"`
	GuardNamespaces []string `json:"-"`
	// AllowInKyverno are exact exceptions that may exempt resources in the namespace kyverno. They repeat the
	// configuration of polex-guard, and admit nothing in a cluster.
	AllowInKyverno []string `json:"-"`
	// Policies are the known policies. Nil means that they are unknown; the checks that need them are skipped.
	Policies *PolicySet `json:"-"`
	// Resources are the resources that exceptions may exempt; nil means that they are unknown.
	Resources *ResourceSet `json:"-"`
}

// preset returns the settings of a preset. baseline is for any exception. strict requires exceptions that an auditor
// understands without a question: each is from one policy, for named resources in named namespaces, for at most
// thirty days, with its reason, ticket and owner, and without a pattern for rules.
func preset(name string) (Config, error) {
	switch name {
	case "", "baseline":
		return Config{}, nil
	case "strict":
		return Config{
			Rules:          policyfile.Rules{Longest: 30 * 24 * time.Hour},
			Require:        []string{RequireReason, RequireTicket, RequireOwner},
			MaxPolicies:    new(1),
			RequireInMatch: []string{"names", "namespaces"},
			Checks: map[string]Level{
				ReasonWildcardPolicy:  LevelError,
				ReasonWildcardRule:    LevelError,
				reasonWildcardImage:   LevelError,
				ReasonNotProvenNarrow: LevelError,
				ReasonMayFail:         LevelError,
			},
		}, nil
	}
	return Config{}, in(fmt.Errorf("preset: %q is neither baseline nor strict", name), "shape", "preset")
}

// StartFrom sets the preset, and clears the settings that presets have. An exception then expires as the preset
// requires. The other settings stay.
func (c *Config) StartFrom(name string) {
	strict, _ := preset("strict")
	c.Preset, c.Require, c.RequireInMatch, c.MaxPolicies = name, nil, nil, nil
	maps.DeleteFunc(c.Checks, func(reason string, _ Level) bool { return strict.Checks[reason] != "" })
	if start, _ := preset(name); start.Rules.Longest > 0 {
		c.Rules.Unbounded = false
		if start.Rules.Longest < c.Rules.Longest {
			c.Rules.Longest = start.Rules.Longest
		}
	}
}

// Complete adds the settings of the preset. [New] does so too.
func (c *Config) Complete() error {
	start, err := preset(c.Preset)
	if err != nil {
		return err
	}
	c.Require, c.RequireInMatch = cloned(c.Require, start.Require), cloned(c.RequireInMatch, start.RequireInMatch)
	c.MaxPolicies = cmp.Or(c.MaxPolicies, start.MaxPolicies, new(int))
	c.Rules.Longest = cmp.Or(c.Rules.Longest, start.Rules.Longest)
	levels := map[string]Level{}
	maps.Copy(levels, start.Checks)
	maps.Copy(levels, c.Checks)
	c.Checks = levels
	return nil
}

// cloned returns a copy of a list, or the other one if it is nil.
func cloned(list, otherwise []string) []string {
	if list == nil {
		return otherwise
	}
	return slices.Clone(list)
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
	for _, check := range []func(*Config) error{(*Config).Complete, checkRequired, checkLevels} {
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
	for _, list := range []struct {
		key          string
		names, known []string
	}{
		{"require", slices.Concat(c.Require, c.Rules.Renewals.Require), exception.StatementNames()},
		{"requireInMatch", c.RequireInMatch, []string{"names", "namespaces", "subjects"}},
	} {
		for _, name := range list.names {
			if !slices.Contains(list.known, name) {
				return fmt.Errorf("%s: %q is not one of %s", list.key, name, strings.Join(list.known, ", "))
			}
		}
	}
	if *c.MaxPolicies < 0 {
		return fmt.Errorf("maxPolicies is negative: %d", *c.MaxPolicies)
	}
	if err := wildcard.Names(c.Namespaces).Check(wildcard.NamespaceForm); err != nil {
		return in(fmt.Errorf("namespaces: %w", err), "shape", "namespaces")
	}
	return nil
}
