package validate

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/changed"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/pkg/shape"
)

// surroundings are the paths of additional inputs for the checks.
type surroundings struct{ policies, resources, signed []string }

func (s *surroundings) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&s.policies, "policies", nil,
		"paths of the Kyverno policies (default: directories.policies of the configuration)")
	flags.StringSliceVar(&s.resources, "resources", nil, "paths of manifests, to list the exempted resources")
	flags.StringSliceVar(&s.signed, "signed", nil,
		"paths of the signed exceptions, to compare with (default: signed/ if PATH is in unsigned/)")
}

// read adds the files at the paths to the configuration and the set. It reports unreadable files,
// because an exception must not pass if its policy could not be read. Manifests may be templates
// that are not YAML, so an unreadable one is only a warning.
//
// If no flag names the live exceptions and waiting is not nil, they come from waiting. polex-verify
// rejects the unreadable ones of those.
func (s *surroundings) read(run *run, waiting *queue, since *changed.Since, cfg *config.Config,
	config *shape.Config) error {
	defer func() {
		setting := "--policies"
		if len(s.policies) == 0 {
			setting = "directories.policies of the configuration"
		}
		cli.Given(run.report, setting, shapeconfig.PolicyPaths(cfg, s.policies))
		cli.Given(run.report, "--resources", s.resources)
		cli.Given(run.report, "--signed", s.signed)
	}()
	run.set.Terms = config.Rules.Terms
	policies := shapeconfig.PolicyPaths(cfg, s.policies)
	config.Policies = cli.Policies(policies, run.report)
	for _, path := range policies {
		if since != nil && !config.Policies.Proposed {
			var err error
			if config.Policies.Proposed, err = since.Touched(path); err != nil {
				return err
			}
		}
	}
	run.policies = config.Policies
	if run.exempting = len(s.resources) > 0; run.exempting {
		config.Resources = shape.ReadResources(slices.Collect(cli.Documents(s.resources, run.report, cli.Warn)))
	}
	unreadable := run.report
	if run.live = s.signed; len(run.live) == 0 && waiting != nil {
		run.live, unreadable = waiting.signed, &cli.Report{}
	}
	if len(run.live) > 0 || waiting != nil {
		run.renewals = &renewals{newApprover: config.Rules.Renewals.NewApprover}
		run.set.Live(cli.Documents(run.live, unreadable, cli.Refuse), run.now)
	}
	return nil
}
