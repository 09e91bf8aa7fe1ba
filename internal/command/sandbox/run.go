package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/sandbox"
)

func newRun(streams cli.Streams) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command against a sandbox of its own",
		Long: `Start a sandbox, run COMMAND, stop the sandbox and exit as COMMAND did. The environment of
COMMAND has

  ACTIONS_ID_TOKEN_REQUEST_URL     as in GitHub Actions: gives a token for the identity
  ACTIONS_ID_TOKEN_REQUEST_TOKEN   of the flags
  POLEX_SANDBOX                    the folder with polex.yaml and trusted_root.json

polex.yaml trusts exactly that identity. polex-sandbox token gives tokens of other
identities, to see their signatures rejected.`,
		Example: `  polex-sandbox run -- sh -c '
    polex-sign --config "$POLEX_SANDBOX/polex.yaml" exception.yaml |
    polex-verify --config "$POLEX_SANDBOX/polex.yaml" -'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageHint(
					"polex-sandbox run -- COMMAND [ARG...]; to leave a sandbox running, polex-sandbox serve",
					"no COMMAND given")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return o.runCommand(c.Context(), streams, args) },
	}
	// Flags end where the command begins: the rest belongs to the command.
	command.Flags().SetInterspersed(false)
	command.Flags().StringVar(&o.dir, "dir", "", "`folder` for the files of the sandbox (default: a temporary one)")
	o.addStart(command.Flags())
	return command
}

func (o *options) runCommand(ctx context.Context, streams cli.Streams, args []string) error {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "polex-sandbox-")
		if err != nil {
			return cli.Hint(fmt.Errorf("make a folder: %w", err), "name one with --dir")
		}
		defer os.RemoveAll(dir) //nolint:errcheck // the system removes the rest
		o.dir = dir
	}
	// From here on the child handles signals. Otherwise the sandbox would exit and leave its folder
	// behind.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)

	s, err := o.start(ctx, streams)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // only the exit code of the command matters now

	child := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the user names the command
	child.Stdin, child.Stdout, child.Stderr = streams.In, streams.Out, streams.Err
	child.Env = append(os.Environ(), s.Environ()...)
	if err := child.Start(); err != nil {
		return cli.Hint(fmt.Errorf("run %q: %w", args[0], err),
			"the command is looked up in PATH; a shell line needs a shell: polex-sandbox run -- sh -c '...'")
	}
	done := make(chan error, 1)
	go func() { done <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			// A terminal sends the signal of a key to all processes in the foreground, also to the child.
			if ofKey := s == os.Interrupt || s == syscall.SIGQUIT; !ofKey || !cli.IsTerminal(streams.In) {
				_ = child.Process.Signal(s) // an error means that it has ended already
			}
		case err := <-done:
			return childStatus(err)
		}
	}
}

// childStatus returns the exit code of the command as an error. A signal gives 128 plus its number,
// as in a shell.
func childStatus(err error) error {
	if err == nil {
		return nil
	}
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return fmt.Errorf("wait for the command: %w", err)
	}
	status := ended.ExitCode()
	if w, ok := ended.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		status = 128 + int(w.Signal())
	}
	return cli.StatusError(status)
}

func newServe(streams cli.Streams) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "serve --dir DIR [flags]",
		Short: "Leave a sandbox running until it is interrupted",
		Long: `Start a sandbox, print its environment as export lines for another shell, and run until
an interrupt (Ctrl-C). The folder stays: signatures still verify with its trusted_root.json.`,
		Args: cli.NoPath,
		RunE: func(c *cobra.Command, _ []string) error { return o.serve(c.Context(), streams) },
	}
	command.Flags().StringVar(&o.dir, "dir", "", "`folder` for the files of the sandbox (required)")
	o.addStart(command.Flags())
	return command
}

func (o *options) serve(ctx context.Context, streams cli.Streams) error {
	if o.dir == "" {
		return cli.UsageHint("add --dir sandbox: other commands find the sandbox by its folder",
			"missing required flag: --dir")
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s, err := o.start(ctx, streams)
	if err != nil {
		return err
	}
	for _, pair := range s.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(streams.Out, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	fmt.Fprintf(streams.Err, "polex-sandbox: paste the lines above into another shell; interrupt this one to stop\n")
	<-ctx.Done()
	stop() // a second interrupt ends the process at once
	if err := s.Close(); err != nil {
		return fmt.Errorf("stop the sandbox: %w", err)
	}
	return nil
}

// banner warns every user of the sandbox.
const banner = `polex-sandbox: THIS IS A SANDBOX. Every process on this machine can get any identity from it,
polex-sandbox: so its signatures prove nothing. Never add its trusted root to a real trust policy.
`

func (o *options) addStart(flags *pflag.FlagSet) {
	o.addClaims(flags)
	flags.BoolVar(&o.log, "log", false, "write a line to stderr for every request")
}

// start starts the sandbox and prints the warning and the identity.
func (o *options) start(ctx context.Context, streams cli.Streams) (*sandbox.Sandbox, error) {
	identity, _, err := o.identity(streams)
	if err != nil {
		return nil, err
	}
	options := sandbox.Options{Dir: o.dir, Identity: identity}
	if o.log {
		options.Log = streams.Err
	}
	s, err := sandbox.Start(ctx, options)
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("start the sandbox: %w", err),
			"it needs a folder it can write to and free ports on 127.0.0.1")
	}
	fmt.Fprint(streams.Err, banner)
	fmt.Fprintf(streams.Err, "polex-sandbox: signing as %s\n", identity.Subject())
	return s, nil
}
