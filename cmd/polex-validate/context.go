package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// surroundings are the paths of what exceptions are held against besides
// themselves.
type surroundings struct{ policies, resources, signed, crds []string }

func (s *surroundings) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&s.policies, "policies", nil, "`paths` of the Kyverno policies that exceptions are from: do the policies and rules exist?")
	flags.StringSliceVar(&s.resources, "resources", nil, "`paths` of manifests: which of them would be exempt?")
	flags.StringSliceVar(&s.crds, "crds", nil, "`paths` of the cluster's own definitions of PolicyException (default: those of Kyverno 1.19.1)")
	flags.StringSliceVar(&s.signed, "signed", nil, "`paths` of the live exceptions: what is replaced, widened or doubled?")
}

// read puts what the paths hold into the configuration and the set. What cannot
// be read goes on the report: an exception must not pass for want of the policy
// that it is from. Manifests may be templates, which are no YAML; those that
// cannot be read are warned of.
func (s *surroundings) read(run *run, config *shape.Config) error {
	if len(s.crds) > 0 {
		defined, err := exception.ReadDefinitions(documents(s.crds, run.report, cli.Refuse))
		if err != nil {
			return &cli.UsageError{Err: fmt.Errorf("definitions: %w", err)}
		}
		config.Definitions = defined
	}
	if len(s.policies) > 0 {
		config.Policies = shape.ReadPolicies(documents(s.policies, run.report, cli.Refuse))
		run.policies = config.Policies
	}
	if len(s.resources) > 0 {
		config.Resources = shape.ReadResources(documents(s.resources, run.report, cli.Warn))
	}
	if len(s.signed) > 0 {
		run.set.Live(documents(s.signed, run.report, cli.Refuse), run.now)
	}
	return nil
}

// documents reads what paths hold, beside the documents that are judged. One
// that is malformed has the outcome given.
func documents(paths []string, report *cli.Report, malformed cli.Outcome) []*exception.Document {
	var docs []*exception.Document
	aside := &cli.Report{}
	cli.Inputs{Paths: paths, Report: aside}.Each(func(doc *exception.Document) { docs = append(docs, doc) })
	for _, result := range aside.Results() {
		switch {
		case result.Reason == cli.ReasonNoDocuments:
			continue // an empty folder is one without policies
		case result.Outcome == cli.Refuse:
			result.Outcome = malformed
		}
		report.Add(result)
	}
	return docs
}
