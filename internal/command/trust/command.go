// Package trust is the command polex trust, which explains a trust policy.
package trust

import (
	"errors"
	"fmt"

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
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args)
			}
			return &cli.UsageError{Err: errors.New("no command given"),
				Hint: cmd.CommandPath() + " explain prints what the trust policy accepts"}
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // Args has returned an error
	}
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
		out := &printer{streams: streams}
		for _, a := range policy.Authorities() {
			accepts, warnings := explain(a)
			out.line("%s", a.Name())
			for _, text := range accepts {
				out.line("  %s", text)
			}
			for _, text := range warnings {
				out.line("  warning: %s", text)
			}
		}
		if n := policy.Threshold(); n > 1 {
			out.line("%d of them must sign", n)
		}
		for _, g := range policy.Groups() {
			out.line("%d of the group %s must sign", g.Threshold, g.Name)
		}
		for _, text := range lifetimes(policy.Rules()) {
			out.line("%s", text)
		}
		return out.err
	}
	cmd.AddCommand(inWords)
	return cmd
}

// printer writes lines until an error.
type printer struct {
	streams cli.Streams
	err     error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.streams.Out, plain.Line(fmt.Sprintf(format, args...)))
	}
}
