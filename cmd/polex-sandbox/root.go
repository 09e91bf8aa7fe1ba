package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/cmd/internal/cli"
)

// environment is everything a command takes from outside of its arguments.
type environment struct {
	stdin          *os.File // the child's, as it is: a terminal stays one
	stdout, stderr io.Writer
	environ        []string
}

// lookup is the last value given to an environment variable, as a process sees it.
func (e environment) lookup(name string) string {
	value := ""
	for _, pair := range e.environ {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}

// sandbox is the folder of the sandbox that is running: the one that is named, or the one
// that run has told its command.
func (e environment) sandbox(dir string) (string, error) {
	if dir == "" {
		dir = e.lookup("POLEX_SANDBOX")
	}
	if dir == "" {
		return "", usage("run it inside of polex-sandbox run, or name the folder of polex-sandbox serve with --dir",
			"POLEX_SANDBOX is not set and --dir is not given")
	}
	return dir, nil
}

// Exit statuses of polex-sandbox itself; run exits with its command's.
const (
	exitUsage  = 2
	exitFailed = 3
)

// failure is an error with its exit status and a word on what to do next.
type failure struct {
	status int
	err    error // nil: the status says it all
	hint   string
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit status %d", f.status)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

func usage(hint, format string, args ...any) error {
	return &failure{status: exitUsage, err: fmt.Errorf(format, args...), hint: hint}
}

// execute runs the command line and returns the exit status, once every error is written to stderr.
func execute(ctx context.Context, args []string, env environment) int {
	command := newCommand(env)
	command.SetArgs(args)
	err := cli.CheckGiven(command, args)
	if err == nil {
		err = command.ExecuteContext(ctx)
	}
	if err == nil {
		return 0
	}
	var f *failure
	if !errors.As(err, &f) {
		// What cobra itself refuses: an unknown command or flag.
		f = &failure{status: exitUsage, err: err, hint: "polex-sandbox --help lists the commands and their flags"}
	}
	if f.err != nil {
		fmt.Fprintf(env.stderr, "polex-sandbox: error: %v\n", f.err)
	}
	if f.hint != "" {
		fmt.Fprintf(env.stderr, "polex-sandbox: hint: %s\n", f.hint)
	}
	return f.status
}

func newCommand(env environment) *cobra.Command {
	command := &cobra.Command{
		Use:   "polex-sandbox",
		Short: "A whole Sigstore on loopback, to try polex and to test with",
		Long: `polex-sandbox runs an OpenID issuer that speaks for GitHub Actions, Fulcio with a
transparency log for its certificates, Rekor (versions 1 and 2) and a timestamp authority, all in one
process and on 127.0.0.1. What is sealed against it verifies with the trusted_root.json
and the polex.yaml that it writes, and with nothing else.

Nothing it issues is worth anything outside of it: it gives any identity to whoever asks.

Sign and verify, without an account or a network:

  polex-sandbox run -- sh -c '
    polex-sign --config "$POLEX_SANDBOX/polex.yaml" exception.yaml |
    polex-verify --config "$POLEX_SANDBOX/polex.yaml" -'

The same by your own .polex.yaml, of which the sandbox replaces the Sigstore alone:

  polex-sandbox run -- sh -c '
    polex-sandbox config >.polex-sandbox.yaml &&
    polex-sign --config .polex-sandbox.yaml exception.yaml'

Without --config, polex-sign signs by your .polex.yaml or, where there is none, with the public
Sigstore, even inside of a sandbox.

Exit status: 0 done, 2 usage, 3 could not start; run exits as its command does.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("polex-sandbox --help lists the commands", "unknown command %q", args[0])
			}
			return usage("to run a command against a sandbox: polex-sandbox run -- COMMAND", "no command given")
		},
		RunE:          func(*cobra.Command, []string) error { return nil },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	command.SetOut(env.stdout)
	command.SetErr(env.stderr)
	command.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage(c.CommandPath()+" --help lists the flags", "%w", err)
	})
	command.AddCommand(newRun(env), newServe(env), newToken(env), newConfig(env))
	return command
}
