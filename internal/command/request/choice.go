package request

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/request"
)

// choice selects violations from a report, or describes the single one without a report.
type choice struct {
	policy, rule, about, in string
	resource                request.Resource // the resource in about
}

func (c *choice) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.policy, "policy", "", "violated policy: name, or namespace/name")
	flags.StringVar(&c.rule, "rule", "", "violated rule, as Kyverno runs it for the resource; none for policies.kyverno.io")
	flags.StringVar(&c.about, "about", "", "violating resource: KIND[.GROUP]/[NAMESPACE/]NAME, such as Deployment/team-a/web")
	flags.StringVarP(&c.in, "namespace", "n", "", "namespace of the violations (default: all)")
}

func (c *choice) any() bool { return c.policy != "" || c.rule != "" || c.about != "" || c.in != "" }

var aboutForm = regexp.MustCompile(`^([A-Z][A-Za-z0-9]*)((?:\.[a-z0-9-]+)*)/(?:([a-z0-9-]+)/)?([A-Za-z0-9.:_-]+)$`)

// check parses --about. The version of the API group does not matter, because an exception applies
// to all versions.
func (c *choice) check() error {
	if c.about == "" {
		return nil
	}
	parts := aboutForm.FindStringSubmatch(c.about)
	if parts == nil {
		return &cli.UsageError{Err: fmt.Errorf("--about %q is not written as KIND[.GROUP]/[NAMESPACE/]NAME", c.about), Hint: "write it like --about Deployment/team-a/web"}
	}
	c.resource = request.Resource{Kind: parts[1], Namespace: parts[3], Name: parts[4]}
	if parts[2] != "" {
		c.resource.APIVersion = strings.TrimPrefix(parts[2], ".") + "/v1"
	}
	return nil
}

// takes reports whether the flags select a violation.
func (c *choice) takes(v request.Violation) bool {
	r := v.Resource
	return (c.policy == "" || c.policy == v.Policy) && (c.rule == "" || c.rule == v.Rule) && (c.in == "" || c.in == r.Namespace) &&
		(c.about == "" || c.resource.Kind == r.Kind && c.resource.Namespace == r.Namespace && c.resource.Name == r.Name && sameGroup(c.resource.APIVersion, r.APIVersion))
}

// sameGroup compares the groups of two API versions, if both are known.
func sameGroup(a, b string) bool {
	return a == "" || b == "" || schema.FromAPIVersionAndKind(a, "").Group == schema.FromAPIVersionAndKind(b, "").Group
}

// violation returns the violation that the flags describe.
func (c *choice) violation() request.Violation {
	return request.Violation{Policy: c.policy, Rule: c.rule, Resource: c.resource}
}
