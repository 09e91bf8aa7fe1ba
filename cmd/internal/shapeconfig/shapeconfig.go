// Package shapeconfig is how the binaries that look at an exception's shape take
// their settings: from the shape section of the configuration, and from flags.
package shapeconfig

import (
	"fmt"
	"time"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
)

// section is the shape section of .polex.yaml.
type section struct {
	MaxLifetime     string   `json:"maxLifetime"`
	AllowUnbounded  bool     `json:"allowUnbounded"`
	Require         []string `json:"require"`
	GuardPolicies   []string `json:"guardPolicies"`
	GuardNamespaces []string `json:"guardNamespaces"`
}

// Flags win over the section; their zero values leave it as it is.
type Flags struct {
	MaxLifetime    string
	AllowUnbounded bool
	Require        []string
}

// Checker makes the checker that configuration and flags add up to. One that
// cannot be meant is a [cli.UsageError].
func Checker(cfg *cli.Config, flags Flags) (*shape.Checker, error) {
	var s section
	if err := cfg.Section("shape", &s); err != nil {
		return nil, err
	}
	if flags.MaxLifetime != "" {
		s.MaxLifetime = flags.MaxLifetime
	}
	if flags.Require != nil {
		s.Require = flags.Require
	}
	config := shape.Config{
		AllowUnbounded: s.AllowUnbounded || flags.AllowUnbounded, Require: s.Require,
		GuardPolicies: s.GuardPolicies, GuardNamespaces: s.GuardNamespaces,
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

// Results turns what a checker finds of a document into results.
func Results(checker *shape.Checker, doc *exception.Document, now time.Time) []cli.Result {
	var results []cli.Result
	for _, f := range checker.Check(doc, now) {
		r := cli.Result{Outcome: cli.Refuse, File: f.Position.File, Line: f.Position.Line, Column: f.Position.Column,
			Reason: f.Reason, Message: f.Message, Hint: f.Hint, Object: doc.Identity().String()}
		if f.Severity == shape.Warning {
			r.Outcome = cli.Warn
		}
		if len(f.Path) > 0 {
			r.Path = f.Path.String()
		}
		results = append(results, r)
	}
	return results
}
