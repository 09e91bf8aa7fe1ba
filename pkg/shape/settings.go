package shape

import (
	"fmt"
	"maps"
)

// Settings are the section shape of .polex.yaml, as it is written. The preset supplies
// missing values. The tags are those of internal/config.
type Settings struct {
	Preset         string           `json:"preset" enum:"baseline strict" default:"baseline" doc:"the settings to start from"`
	Require        []string         `json:"require" enum:"reason ticket owner category" default:"none; strict: reason, ticket, owner" doc:"the statements that an exception has to make"`
	RequireInMatch []string         `json:"requireInMatch" enum:"names namespaces subjects" default:"none; strict: names, namespaces" doc:"the fields that every filter of spec.match has to list"`
	MaxPolicies    *int             `json:"maxPolicies" min:"0" default:"0; strict: 1" doc:"the number of policies that one exception may name; 0 sets no limit"`
	Namespaces     []string         `json:"namespaces" default:"any" doc:"the namespaces of exceptions: names, or patterns in which * is any text and ? is one character"`
	Checks         map[string]Level `json:"checks" doc:"the level of a check, by its reason"`
	KyvernoVersion string           `json:"kyvernoVersion" default:"not checked" doc:"the release of Kyverno, such as 1.19, that has to serve the exception"`

	_ struct{} `formerly:"defaultSeverity" instead:"name the policies in a rule of trust.lifetimes"`
	_ struct{} `formerly:"guardPolicies guardNamespaces allowInKyverno" instead:"use the key of that name in the section guard"`
	_ struct{} `formerly:"maxLifetime" instead:"use trust.maxLifetime"`
	_ struct{} `formerly:"limits" instead:"use trust.lifetimes"`
	_ struct{} `formerly:"renewals" instead:"use trust.renewals"`
	_ struct{} `formerly:"allowUnbounded" instead:"use trust.allowUnbounded"`
	_ struct{} `formerly:"rules" instead:"write a Kyverno policy on PolicyException, as in policies/shape: docs/how-to/validate.md"`
}

// StartFrom sets the preset, and clears the settings that presets set. The others stay.
func (s *Settings) StartFrom(preset string) {
	s.Preset = preset
	s.Require, s.RequireInMatch, s.MaxPolicies = nil, nil, nil
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
	if s.Require != nil {
		c.Require = s.Require
	}
	if err := s.inMatch(&c); err != nil {
		return c, err
	}
	if s.MaxPolicies != nil {
		c.MaxPolicies = *s.MaxPolicies
	}
	c.Namespaces, c.KyvernoVersion = s.Namespaces, s.KyvernoVersion
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
