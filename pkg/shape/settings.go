package shape

import (
	"fmt"
	"maps"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
)

// Settings are the section shape of .polex.yaml, as it is written. The preset supplies
// missing values. The tags are those of internal/config.
type Settings struct {
	Preset          string           `json:"preset" enum:"baseline strict" default:"baseline" doc:"the settings to start from"`
	MaxLifetime     string           `json:"maxLifetime" format:"duration" default:"no limit; strict: 30d" doc:"the longest lifetime of an exception"`
	Limits          []limitSettings  `json:"limits" doc:"shorter maximum lifetimes for some exceptions; every limit that concerns an exception applies"`
	Renewals        renewalSettings  `json:"renewals" doc:"further rules for an exception that renews another"`
	AllowUnbounded  bool             `json:"allowUnbounded" default:"false" doc:"true permits exceptions that never expire"`
	Require         []string         `json:"require" enum:"reason ticket owner category" default:"none; strict: reason, ticket, owner" doc:"the statements that an exception has to make"`
	RequireInMatch  []string         `json:"requireInMatch" enum:"names namespaces subjects" default:"none; strict: names, namespaces" doc:"the fields that every filter of spec.match has to list"`
	MaxPolicies     *int             `json:"maxPolicies" min:"0" default:"0; strict: 1" doc:"the number of policies that one exception may name; 0 sets no limit"`
	Namespaces      []string         `json:"namespaces" default:"any" doc:"the namespaces of exceptions: names, or patterns in which * is any text and ? is one character"`
	Checks          map[string]Level `json:"checks" doc:"the level of a check, by its reason"`
	GuardPolicies   []string         `json:"guardPolicies" default:"none" doc:"names or patterns of policies that no exception may reach, beside those of polex and Kyverno"`
	GuardNamespaces []string         `json:"guardNamespaces" default:"none" doc:"names or patterns of namespaces that no exception may reach, beside those of polex and Kyverno"`
	AllowInKyverno  []Admission      `json:"allowInKyverno" default:"none" doc:"the objects in the namespace kyverno that an exception may exempt; polex-guard decides by guard.allowInKyverno"`
	KyvernoVersion  string           `json:"kyvernoVersion" default:"not checked" doc:"the release of Kyverno, such as 1.19, that has to serve the exception"`

	_ struct{} `formerly:"defaultSeverity" instead:"name the policies under shape.limits[].policies"`
	_ struct{} `formerly:"rules" instead:"write a Kyverno policy on PolicyException, as in policies/shape: docs/how-to/validate.md"`
}

// renewalSettings are for an exception that renews another one.
type renewalSettings struct {
	Max         int      `json:"max" min:"0" max:"998" default:"0" doc:"the number of renewals in a row; 0 sets no limit"`
	MaxLifetime string   `json:"maxLifetime" format:"duration" default:"as for any exception" doc:"the longest lifetime of a renewal"`
	Require     []string `json:"require" enum:"reason ticket owner category" default:"none" doc:"the statements that a renewal has to make beside those of shape.require"`
}

type limitSettings struct {
	MaxLifetime string   `json:"maxLifetime" format:"duration" doc:"the longest lifetime of these exceptions"`
	Policies    []string `json:"policies" default:"any" doc:"names or patterns of the policies that the exception is from"`
	Namespaces  []string `json:"namespaces" default:"any" doc:"names or patterns of the namespaces of the exempted resources"`

	_ struct{} `formerly:"severities" instead:"name the policies under shape.limits[].policies"`
}

// StartFrom sets the preset, and clears the settings that presets set. The others stay.
func (s *Settings) StartFrom(preset string) {
	s.Preset = preset
	s.MaxLifetime, s.AllowUnbounded, s.Require, s.RequireInMatch, s.MaxPolicies = "", false, nil, nil, nil
	maps.DeleteFunc(s.Checks, func(reason string, _ Level) bool { return Strict().Levels[reason] != "" })
}

// Config returns the configuration of the settings and their preset.
func (s *Settings) Config() (Config, error) {
	c := Baseline()
	if s.Preset != "" {
		var known bool
		if c, known = Preset(s.Preset); !known {
			return c, fmt.Errorf("preset %q is not baseline or strict", s.Preset)
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
		c.Limits = append(c.Limits, Limit{MaxLifetime: at, Policies: l.Policies, Namespaces: l.Namespaces})
	}
	c.Renewals = Renewals{Max: s.Renewals.Max, Require: s.Renewals.Require}
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
	c.AllowInKyverno, c.KyvernoVersion = s.AllowInKyverno, s.KyvernoVersion
	if c.Levels == nil {
		c.Levels = map[string]Level{}
	}
	maps.Copy(c.Levels, s.Checks)
	return c, nil
}

func (s *Settings) inMatch(c *Config) error {
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
			return fmt.Errorf("requireInMatch: %q is not one of names, namespaces, subjects", what)
		}
	}
	return nil
}

func duration(text string) (time.Duration, error) {
	d, err := lifetime.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("maxLifetime: %w", err)
	}
	return d, nil
}
