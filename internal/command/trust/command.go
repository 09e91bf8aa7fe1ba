// Package trust is the command polex trust, which explains a trust policy.
package trust

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/trustflags"
	"github.com/polex-dev/polex/internal/plain"
)

const help = `Print in words which signatures the trust policy accepts, and warnings about signers that
somebody else could become. It reads the trust policy of the configuration, with the
trusted root and the keys that it names, and no exception.

Exit codes: 0 explained, 2 invalid command line or configuration.`

const example = `  # the section trust of .polex.yaml
  polex trust explain
  # a file of kind TrustPolicy
  polex trust explain --config trust.yaml`

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:                   "polex trust COMMAND",
		Short:                 "Explain a trust policy",
		Long:                  "Explain a trust policy.",
		DisableFlagsInUseLine: true,
	}
	cli.OnlySubcommands(cmd, "polex trust explain prints what the trust policy accepts")
	var path string
	inWords := &cobra.Command{
		Use:                   "explain [flags]",
		Short:                 "Print in words what the trust policy accepts",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
		Args:                  cli.NoPath,
	}
	cli.AddConfigFlag(inWords.Flags(), &path)
	inWords.RunE = func(*cobra.Command, []string) error {
		cfg, err := cli.LoadRepositoryConfig(path)
		if err != nil {
			return err
		}
		policy, err := trustflags.Policy(cfg)
		if err != nil {
			return err
		}
		var lines []string
		say := func(format string, args ...any) { lines = append(lines, plain.Line(fmt.Sprintf(format, args...))) }
		for _, a := range policy.Authorities() {
			accepts, warnings := explain(a)
			say("%s", a.Name())
			for _, text := range accepts {
				say("  %s", text)
			}
			for _, text := range warnings {
				say("  warning: %s", text)
			}
		}
		if n := policy.Threshold(); n > 1 {
			say("%d of them must sign", n)
		}
		for _, g := range policy.Groups() {
			say("%d of the group %s must sign", g.Threshold, g.Name)
		}
		for _, text := range lifetimes(policy.Rules()) {
			say("%s", text)
		}
		_, err = fmt.Fprintln(streams.Out, strings.Join(lines, "\n"))
		return err
	}
	cmd.AddCommand(inWords)
	return cmd
}
