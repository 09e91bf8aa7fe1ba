// Package shapeconfig is how the binaries that look at an exception's shape take
// their settings: from the shape section of the configuration, and from flags.
package shapeconfig

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
)

// The flags. The first two mean the same where a trust policy is meant.
const (
	flagMaxLifetime    = "max-lifetime"
	flagAllowUnbounded = "allow-unbounded"
	flagRequire        = "require"
	flagKyvernoVersion = "kyverno-version"
)

// section is the shape section of .polex.yaml.
type section struct {
	MaxLifetime     string   `json:"maxLifetime"`
	AllowUnbounded  bool     `json:"allowUnbounded"`
	Require         []string `json:"require"`
	GuardPolicies   []string `json:"guardPolicies"`
	GuardNamespaces []string `json:"guardNamespaces"`
	KyvernoVersion  string   `json:"kyvernoVersion"`
}

// AddFlags gives a command the flags that [Checker] looks at.
func AddFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.String(flagMaxLifetime, "", "longest `duration` that an exception may live, such as 90d (default: no limit)")
	flags.Bool(flagAllowUnbounded, false, "permit exceptions that never expire")
	flags.StringSlice(flagRequire, nil, "`what` an exception has to say, of "+strings.Join(shape.Statements(), ", ")+" (default: nothing)")
	flags.String(flagKyvernoVersion, "", "`release` of Kyverno, such as 1.19, that has to serve and heed the exception (default: not asked)")
}

// Checker makes the checker that configuration and flags add up to; a flag that
// is given wins. One that cannot be meant is a [cli.UsageError].
func Checker(cfg *cli.Config, flags *pflag.FlagSet) (*shape.Checker, error) {
	var s section
	if err := cfg.Section("shape", &s); err != nil {
		return nil, err
	}
	if flags.Changed(flagMaxLifetime) {
		s.MaxLifetime = flags.Lookup(flagMaxLifetime).Value.String()
	}
	if flags.Changed(flagAllowUnbounded) {
		s.AllowUnbounded = flags.Lookup(flagAllowUnbounded).Value.String() == "true"
	}
	if flags.Changed(flagRequire) {
		var err error
		if s.Require, err = flags.GetStringSlice(flagRequire); err != nil {
			return nil, err
		}
	}
	if flags.Changed(flagKyvernoVersion) {
		s.KyvernoVersion = flags.Lookup(flagKyvernoVersion).Value.String()
	}
	config := shape.Config{
		InsecureAllowUnbounded: s.AllowUnbounded, Require: s.Require,
		GuardPolicies: s.GuardPolicies, GuardNamespaces: s.GuardNamespaces, KyvernoVersion: s.KyvernoVersion,
	}
	if s.MaxLifetime != "" {
		d, err := lifetime.ParseDuration(s.MaxLifetime)
		if err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("maximum lifetime: %w", err)}
		}
		config.MaxLifetime = d
	}
	checker, err := shape.New(config)
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return checker, nil
}

// Results turns what was found in a document into results.
func Results(doc *exception.Document, found []shape.Finding) []cli.Result {
	results := make([]cli.Result, 0, len(found))
	for _, f := range found {
		r := cli.ResultFor(doc)
		r.Outcome = cli.Refuse
		if f.Severity == shape.Warning {
			r.Outcome = cli.Warn
		}
		r.Line, r.Column = f.Position.Line, f.Position.Column
		r.Reason, r.Message, r.Hint = f.Reason, f.Message, f.Hint
		if len(f.Path) > 0 {
			r.Path = f.Path.String()
		}
		results = append(results, r)
	}
	return results
}
