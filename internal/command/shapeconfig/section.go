package shapeconfig

import (
	"fmt"
	"maps"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
)

// section is the shape section of .polex.yaml. What it does not say is as the
// preset has it.
type section struct {
	Preset          string                 `json:"preset"`
	MaxLifetime     string                 `json:"maxLifetime"`
	Limits          []limit                `json:"limits"`
	Renewals        renewals               `json:"renewals"`
	AllowUnbounded  bool                   `json:"allowUnbounded"`
	Require         []string               `json:"require"`
	RequireInMatch  []string               `json:"requireInMatch"`
	MaxPolicies     *int                   `json:"maxPolicies"`
	Namespaces      []string               `json:"namespaces"`
	Checks          map[string]shape.Level `json:"checks"`
	GuardPolicies   []string               `json:"guardPolicies"`
	GuardNamespaces []string               `json:"guardNamespaces"`
	KyvernoVersion  string                 `json:"kyvernoVersion"`
	Rules           []rule                 `json:"rules"`
}

// rule is one of a team's own checks. Its weight is "error" or "warning".
type rule struct {
	Name       string      `json:"name"`
	Expression string      `json:"expression"`
	Message    string      `json:"message"`
	Severity   shape.Level `json:"severity"`
}

// renewals is what is asked of an exception that renews another one.
type renewals struct {
	Max         int      `json:"max"`
	MaxLifetime string   `json:"maxLifetime"`
	Require     []string `json:"require"`
}

type limit struct {
	MaxLifetime string   `json:"maxLifetime"`
	Policies    []string `json:"policies"`
	Namespaces  []string `json:"namespaces"`
	Severities  []string `json:"severities"`
}

// startFrom has the section start from a preset, whatever the section says of what
// presets set. What they do not set stays.
func (s *section) startFrom(preset string) {
	s.Preset = preset
	s.MaxLifetime, s.AllowUnbounded, s.Require, s.RequireInMatch, s.MaxPolicies = "", false, nil, nil, nil
	maps.DeleteFunc(s.Checks, func(reason string, _ shape.Level) bool { return shape.Strict().Levels[reason] != "" })
}

// config returns what the section and its preset add up to.
func (s *section) config() (shape.Config, error) {
	c := shape.Baseline()
	if s.Preset != "" {
		var known bool
		if c, known = shape.Preset(s.Preset); !known {
			return c, fmt.Errorf("there is no preset %q, only baseline and strict", s.Preset)
		}
	}
	var err error
	if s.MaxLifetime != "" {
		if c.MaxLifetime, err = duration(s.MaxLifetime); err != nil {
			return c, err
		}
	}
	for _, l := range s.Limits {
		at, err := duration(l.MaxLifetime)
		if err != nil {
			return c, fmt.Errorf("limits: %w", err)
		}
		c.Limits = append(c.Limits, shape.Limit{MaxLifetime: at, Policies: l.Policies, Namespaces: l.Namespaces, Severities: l.Severities})
	}
	c.Renewals = shape.Renewals{Max: s.Renewals.Max, Require: s.Renewals.Require}
	if s.Renewals.MaxLifetime != "" {
		if c.Renewals.MaxLifetime, err = duration(s.Renewals.MaxLifetime); err != nil {
			return c, fmt.Errorf("renewals: %w", err)
		}
	}
	c.InsecureAllowUnbounded = s.AllowUnbounded
	if s.Require != nil {
		c.Require = s.Require
	}
	if err := s.inMatch(&c); err != nil {
		return c, err
	}
	if s.MaxPolicies != nil {
		c.MaxPolicies = *s.MaxPolicies
	}
	c.Namespaces, c.GuardPolicies, c.GuardNamespaces = s.Namespaces, s.GuardPolicies, s.GuardNamespaces
	c.KyvernoVersion = s.KyvernoVersion
	for _, r := range s.Rules {
		own := shape.Rule{Name: r.Name, Expression: r.Expression, Message: r.Message}
		switch r.Severity {
		case "", shape.LevelError:
		case shape.LevelWarning:
			own.Severity = shape.Warning
		default:
			return c, fmt.Errorf("rule %q: the severity %q is neither error nor warning", r.Name, r.Severity)
		}
		c.Rules = append(c.Rules, own)
	}
	if c.Levels == nil {
		c.Levels = map[string]shape.Level{}
	}
	maps.Copy(c.Levels, s.Checks)
	return c, nil
}

func (s *section) inMatch(c *shape.Config) error {
	if s.RequireInMatch == nil {
		return nil
	}
	c.RequireNames, c.RequireNamespaces, c.RequireSubjects = false, false, false
	for _, what := range s.RequireInMatch {
		switch what {
		case "names":
			c.RequireNames = true
		case "namespaces":
			c.RequireNamespaces = true
		case "subjects":
			c.RequireSubjects = true
		default:
			return fmt.Errorf("a match cannot be asked for %q, only for names, namespaces, subjects", what)
		}
	}
	return nil
}

func duration(text string) (time.Duration, error) {
	d, err := lifetime.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("maximum lifetime: %w", err)
	}
	return d, nil
}
