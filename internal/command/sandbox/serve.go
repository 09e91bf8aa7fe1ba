package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/sandbox"
)

func newServe(streams cli.Streams) *cobra.Command {
	var o startOptions
	command := &cobra.Command{
		Use:   "serve --dir DIR [flags]",
		Short: "Leave a sandbox running until it is interrupted",
		Long: `Start a sandbox, print its environment as export lines for another shell, and run until
an interrupt (Ctrl-C). The folder stays: signatures still verify with its trusted_root.json.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("to run a command, polex-sandbox run -- COMMAND", "serve accepts no arguments")
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return serve(c.Context(), o, streams) },
	}
	command.Flags().StringVar(&o.dir, "dir", "", "`folder` for the files of the sandbox (required)")
	o.register(command.Flags())
	return command
}

func serve(ctx context.Context, o startOptions, streams cli.Streams) error {
	if o.dir == "" {
		return usage("add --dir sandbox: other commands find the sandbox by its folder", "missing required flag: --dir")
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s, err := o.start(ctx, streams)
	if err != nil {
		return err
	}
	printExports(streams, s)
	<-ctx.Done()
	stop() // a second interrupt ends the process at once
	if err := s.Close(); err != nil {
		return fmt.Errorf("stop the sandbox: %w", err)
	}
	return nil
}

func printExports(streams cli.Streams, s *sandbox.Sandbox) {
	for _, pair := range s.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(streams.Out, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	fmt.Fprintf(streams.Err, "polex-sandbox: paste the lines above into another shell; interrupt this one to stop\n")
}
