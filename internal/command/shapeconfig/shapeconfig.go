// Package shapeconfig configures the checks of pkg/shape from the section shape and from flags.
package shapeconfig

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
)

// The flags. max-lifetime and allow-unbounded are flags of polex-sign alone. They also apply to the
// trust policy, with the same meaning.
const (
	flagPreset         = "preset"
	flagMaxLifetime    = "max-lifetime"
	flagAllowUnbounded = "allow-unbounded"
	flagRequire        = "require"
	flagKyvernoVersion = "kyverno-version"
)

// AddFlags adds the flags of checks that [Config] reads.
func AddFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String(flagPreset, "", "baseline or strict; it wins over the configuration (default: baseline)")
	cli.Check(flags, flagPreset, cli.OneOf("baseline", "strict"))
	flags.StringSlice(flagRequire, nil,
		"required statements, of "+strings.Join(exception.StatementNames(), ", ")+" (default: none)")
	cli.Check(flags, flagRequire, cli.OneOf(exception.StatementNames()...))
	flags.String(flagKyvernoVersion, "",
		"Kyverno release that must support the exception, such as 1.19 (default: the newest known)")
	cli.Check(flags, flagKyvernoVersion, func(version string) error {
		_, err := kyverno.ParseRelease(version)
		return err
	})
}

// Config merges the configuration and the flags. A flag wins over the configuration. A preset in a
// flag wins over all settings of the section shape that presets have, and of the section trust over
// longer lifetimes. Invalid settings are a [cli.UsageError].
func Config(cfg *config.Config, flags *pflag.FlagSet) (shape.Config, error) {
	written, trusted, err := cfg.Trust()
	if err != nil {
		return shape.Config{}, cli.InConfig(err)
	}
	c := shape.Config{
		Rules: trusted, Allowed: written.AllowedMetadata,
		Statements: cfg.Statements, AllowInKyverno: cfg.Guard.AllowInKyverno,
		GuardPolicies: cfg.Guard.GuardPolicies, GuardNamespaces: cfg.Guard.GuardNamespaces,
	}
	if err := cfg.Section("shape", &c); err != nil {
		return shape.Config{}, cli.InConfig(err)
	}
	if flags.Changed(flagPreset) {
		c.StartFrom(flags.Lookup(flagPreset).Value.String())
	}
	if flags.Changed(flagRequire) {
		if c.Require, err = flags.GetStringSlice(flagRequire); err != nil {
			return shape.Config{}, err
		}
	}
	if flags.Changed(flagKyvernoVersion) {
		c.KyvernoVersion = flags.Lookup(flagKyvernoVersion).Value.String()
	}
	if doc := cfg.Document(); doc.File() != "" {
		c.Locate = func(at ...any) exception.Position { return doc.PositionOf(exception.Path(at)) }
	}
	if flags.Changed(flagMaxLifetime) {
		c.Rules.Longest, err = lifetime.ParseDuration(flags.Lookup(flagMaxLifetime).Value.String())
		if err != nil {
			return shape.Config{}, &cli.UsageError{Err: err}
		}
	}
	if flags.Changed(flagAllowUnbounded) {
		c.Rules.Unbounded = flags.Lookup(flagAllowUnbounded).Value.String() == "true"
	}
	if err := c.Complete(); err != nil {
		return shape.Config{}, &cli.UsageError{Err: err}
	}
	return c, nil
}

// Checker makes the checker of a configuration. An invalid one is a [cli.UsageError].
func Checker(config shape.Config) (*shape.Checker, error) {
	checker, err := shape.New(config)
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return checker, nil
}

// WeighClaims sets the level of the check for record fields in a request, before it is signed. It
// matches the later decision of polex-sign with the section promote. A configured level stays.
func WeighClaims(p config.Promote, c *shape.Config) {
	if c.Checks[shape.ReasonClaimsReview] != "" {
		return
	}
	level := shape.LevelError
	switch {
	case p.RequireApprovals > 0 || c.Rules.Renewals.Review():
	case p.Record == "" || p.Record == config.RecordAuto:
		level = shape.LevelWarning // it depends on the place of the signing
	case p.Record == config.RecordNone:
		level = shape.LevelOff
	}
	c.Checks[shape.ReasonClaimsReview] = level
}

// LeaveClaims disables that check, because the recorder does it at the signing and would report it
// again.
func LeaveClaims(c *shape.Config) {
	if c.Checks[shape.ReasonClaimsReview] == "" {
		c.Checks[shape.ReasonClaimsReview] = shape.LevelOff
	}
}
