// Package adopt is the command polex adopt. It moves the exceptions of an existing repository to
// the folder of pending exceptions.
package adopt

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/adopt"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promote/pending"
)

const help = `Move the exceptions of a repository to the folder of pending exceptions, in the form in
which they are deployed and each with an expiry, and write .polex.yaml.

polex adopt renders the Flux Kustomizations, Argo CD Applications and kustomizations of
the repository in memory, without a network. With -, it also reads rendered manifests from
standard input; --live gives forms that only the cluster knows.

It keeps a stated expiry. Other exceptions get expiries spread evenly between
--first-expiry and --last-expiry. It changes the work tree; you make the commit.

Exit codes: 0 all adopted or none found, 1 some not adopted, 2 invalid command line or
configuration, 3 the repository or a stream could not be read.`

const example = `  # the plan
  polex adopt --dry-run
  # exceptions without a namespace in the repository
  polex adopt --exception-namespace platform-exceptions
  # a Helm chart of exceptions
  helm template exceptions charts/exceptions | polex adopt -
  # forms that only the cluster knows
  kubectl get policyexceptions -A -o yaml | polex adopt --live -`

type options struct {
	config, namespace, first, last, live string
	substitute, expiryKeys               []string
	dryRun                               bool
}

// New makes the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:                   "polex adopt [flags] [-]",
		Short:                 "Adopt the exceptions of a repository that does not use polex yet",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] != "-" {
				return &cli.UsageError{Err: fmt.Errorf("unexpected argument %q", args[len(args)-1]), Hint: "polex adopt reads the repository of the working directory; - adds rendered manifests from standard input"}
			}
			return nil
		},
	}
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.config, "config", "", "configuration `file` (default: "+config.Name+" of the repository, which adopt writes if it is missing)")
	flags.StringVar(&o.namespace, "exception-namespace", "", "namespace of exceptions that state none")
	flags.StringArrayVar(&o.substitute, "substitute", nil, "value of a Flux variable, `name=value`; can be repeated")
	flags.StringArrayVar(&o.expiryKeys, "expiry-key", nil, "your own annotation or label of the expiry, a `string` for trust.expiryKeys; can be repeated")
	flags.StringVar(&o.first, "first-expiry", "30d", "`duration` from now to the first expiry of exceptions without one")
	flags.StringVar(&o.last, "last-expiry", "90d", "`duration` from now to the last of these expiries")
	flags.StringVar(&o.live, "live", "", "use the forms of live exceptions in a `file` of kubectl get -A -o yaml, or -")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the plan and change nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		options, notes, err := o.options(cmd, streams.Now())
		if err != nil {
			return err
		}
		if o.live == "-" && len(args) > 0 {
			return cli.Usagef("--live - and - both read standard input: write one of them to a file, and name the file with --live")
		}
		var in adopt.Input
		if o.live != "" {
			if in.Live, err = cli.ReadInput(o.live, streams.In, maxStream); err != nil && o.live != "-" {
				err = &cli.UsageError{Err: fmt.Errorf("--live: %w", err)}
			}
		} else if len(args) > 0 {
			in.Rendered, err = cli.ReadInput("-", streams.In, maxStream)
		}
		if err != nil {
			return err
		}
		progress := cli.StartProgress(streams.Err, "reading the repository")
		defer progress.Stop()
		clone, err := commitflags.Open(streams)
		if err != nil {
			return err
		}
		defer clone.Close() //nolint:errcheck // the kernel would do it
		files, err := readFiles(clone, options.Unsigned)
		if err != nil {
			return err
		}
		in.Files, options.Origin, options.Branch = files.content, files.origin, files.branch
		plan, err := adopt.Make(in, *options)
		if err != nil {
			return err
		}
		if err := files.check(plan); err != nil {
			return err
		}
		plan.Notes = append(plan.Notes, notes...)
		if len(files.untracked) > 0 {
			plan.Notes = append(plan.Notes, fmt.Sprintf("not committed and not read: %s, e.g. %s", plain.Count(len(files.untracked), "file", "files"), files.untracked[0]))
		}
		if len(files.large) > 0 {
			plan.Notes = append(plan.Notes, fmt.Sprintf("larger than %d MiB and not read: %s, e.g. %s", git.MaxFile>>20, plain.Count(len(files.large), "file", "files"), files.large[0]))
		}
		if !o.dryRun {
			if _, err := clone.Apply(files.propose(plan)); err != nil {
				return commitflags.Hint(err, "")
			}
		}
		progress.Stop()
		return o.report(format, streams, plan)
	}
	return cmd
}

var variable = regexp.MustCompile(`^[_A-Za-z][_A-Za-z0-9]*$`)

// options rejects invalid settings before the repository is read. The notes name unreadable
// policies.
func (o *options) options(cmd *cobra.Command, now time.Time) (out *adopt.Options, notes []string, err error) {
	out = &adopt.Options{Namespace: o.namespace, Substitute: map[string]string{}, Now: now}
	for _, text := range o.substitute {
		name, value, ok := strings.Cut(text, "=")
		if !ok || !variable.MatchString(name) {
			return nil, nil, cli.Usagef("--substitute %q is not written as NAME=VALUE", text)
		}
		out.Substitute[name] = value
	}
	for _, flag := range []struct {
		name, text string
		into       *time.Duration
	}{{"first-expiry", o.first, &out.First}, {"last-expiry", o.last, &out.Last}} {
		if *flag.into, err = lifetime.ParseDuration(flag.text); err != nil {
			return nil, nil, cli.Usagef("--%s: %w", flag.name, err)
		}
	}
	if out.First > out.Last {
		return nil, nil, &cli.UsageError{Err: fmt.Errorf("--first-expiry %s is after --last-expiry %s", o.first, o.last), Hint: "add --last-expiry " + o.first + ", or longer"}
	}
	cfg, err := cli.LoadRepositoryConfig(o.config)
	if err != nil {
		return nil, nil, err
	}
	folders, err := pending.Folders{Unsigned: cfg.Directories.Unsigned, Signed: cfg.Directories.Signed}.Complete()
	if err != nil {
		return nil, nil, &cli.UsageError{Err: err}
	}
	out.Unsigned, out.Signed = folders.Unsigned, folders.Signed
	out.Configured = cfg.Dir != ""
	if out.Shape, err = shapeconfig.Config(cfg, cmd.Flags()); err != nil {
		return nil, nil, err
	}
	unread := &cli.Report{}
	out.Shape.Policies = cli.Policies(shapeconfig.PolicyPaths(cfg, nil), unread)
	for _, r := range unread.Results() {
		notes = append(notes, fmt.Sprintf("directories.policies: %s:%d: %s", r.File, r.Line, r.Message))
	}
	for _, key := range o.expiryKeys {
		if err := lifetime.CheckKey(key); err != nil {
			return nil, nil, cli.Usagef("--expiry-key: %w", err)
		}
		if out.Configured {
			return nil, nil, cli.Usagef("--expiry-key is for a new %s: list %s under trust.expiryKeys in the existing one", config.Name, key)
		}
		out.Shape.Terms.Keys = append(out.Shape.Terms.Keys, key)
	}
	shapeconfig.WeighClaims(cfg.Promote, &out.Shape)
	return out, notes, nil
}

// maxStream is the maximum size of standard input or of the live objects, in bytes.
const maxStream = 64 << 20

// errNotCommitted means that a file to change differs from HEAD.
var errNotCommitted = errors.New("not committed, and polex adopt would change them")

// check rejects a plan that changes uncommitted files.
func (f *files) check(plan *adopt.Plan) error {
	changed := maps.Clone(plan.Write)
	for _, name := range plan.Remove {
		changed[name] = nil
	}
	var names []string
	for _, name := range f.dirty {
		if content, touched := changed[name]; touched && string(content) != string(f.content[name]) {
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	return cli.Hint(fmt.Errorf("%s: %w", strings.Join(names, ", "), errNotCommitted), "commit or undo these changes first; nothing was changed")
}
