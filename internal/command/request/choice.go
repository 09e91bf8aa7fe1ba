package request

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/request"
)

// choice selects violations from a report, or describes the single one without a report.
type choice struct {
	request.Selection
	about string // the resource of the selection
}

func (c *choice) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Policy, "policy", "", "violated policy: name, or namespace/name")
	flags.StringVar(&c.Rule, "rule", "",
		"violated rule, as Kyverno runs it for the resource; none for policies.kyverno.io")
	flags.StringVar(&c.about, "about", "",
		"violating resource: KIND[.GROUP]/[NAMESPACE/]NAME, such as Deployment/team-a/web")
	flags.StringVarP(&c.Namespace, "namespace", "n", "", "namespace of the violations (default: all)")
}

func (c *choice) any() bool {
	return c.Policy != "" || c.Rule != "" || c.about != "" || c.Namespace != ""
}

// check parses --about.
func (c *choice) check() (err error) {
	if c.about == "" {
		return nil
	}
	if c.Resource, err = request.ParseResource(c.about); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--about %w", err), Hint: "write it like --about Deployment/team-a/web"}
	}
	return nil
}

// violation returns the violation that the flags describe.
func (c *choice) violation() request.Violation {
	return request.Violation{Policy: c.Policy, Rule: c.Rule, Resource: c.Resource}
}
