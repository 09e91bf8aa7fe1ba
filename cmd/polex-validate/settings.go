package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
)

// settings are what the flags say.
type settings struct {
	config         string
	allowUnbounded bool
	maxLifetime    string
	require        []string
}

// section is the configuration's section called shape.
type section struct {
	AllowUnbounded  bool     `json:"allowUnbounded"`
	MaxLifetime     string   `json:"maxLifetime"`
	Require         []string `json:"require"`
	GuardPolicies   []string `json:"guardPolicies"`
	GuardNamespaces []string `json:"guardNamespaces"`
}

func (s *settings) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.config, "config", "", "`file` with the configuration, whose section shape is used")
	flags.BoolVar(&s.allowUnbounded, "allow-unbounded", false, "permit an exception that never expires")
	flags.StringVar(&s.maxLifetime, "max-lifetime", "", "the longest `duration` that an exception may live, such as 30d (default 90d, none with --allow-unbounded)")
	flags.StringSliceVar(&s.require, "require", nil, "`what` an exception must say, of reason, ticket and owner; \"\" for nothing (default reason)")
}

// load reads the configuration and lets the flags that are set win over it.
func (s *settings) load(cmd *cobra.Command) (shape.Config, error) {
	path := s.config
	if path == "" {
		found, err := cli.FindConfig(".")
		if err != nil {
			return shape.Config{}, err
		}
		path = found
	}
	file, err := cli.LoadConfig(path)
	if err != nil {
		return shape.Config{}, err
	}
	var from section
	if err := file.Section("shape", &from); err != nil {
		return shape.Config{}, err
	}
	changed := cmd.Flags().Changed
	if changed("allow-unbounded") {
		from.AllowUnbounded = s.allowUnbounded
	}
	if changed("max-lifetime") {
		from.MaxLifetime = s.maxLifetime
	}
	if changed("require") {
		from.Require = withoutBlanks(s.require)
	}
	config := shape.Config{AllowUnbounded: from.AllowUnbounded, Require: from.Require, GuardPolicies: from.GuardPolicies, GuardNamespaces: from.GuardNamespaces}
	if from.MaxLifetime != "" {
		if config.MaxLifetime, err = lifetime.ParseDuration(from.MaxLifetime); err != nil {
			return shape.Config{}, &cli.UsageError{Err: fmt.Errorf("maximum lifetime: %w", err)}
		}
	}
	return config, nil
}

// withoutBlanks keeps "" apart from not given: nothing is required then.
func withoutBlanks(words []string) []string {
	kept := []string{}
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" {
			kept = append(kept, word)
		}
	}
	return kept
}
