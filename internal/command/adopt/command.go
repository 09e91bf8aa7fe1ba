// Package adopt is the command polex adopt. It moves the exceptions of an existing repository to
// the folder of pending exceptions.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/adopt"
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/clusterread"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

const help = `Move the exceptions of a repository to the folder of pending exceptions, in the form in
which they are deployed and each with an expiry, and write .polex.yaml.

The cluster knows the deployed forms (--kubeconfig, --live), or your own tools render
them (-). polex adopt renders nothing. Without such an object, it adopts a plain file, unless a
kustomization, a deployer or a template could change it.

It keeps a stated expiry. Other exceptions get expiries spread evenly between
--first-expiry and --last-expiry. It reads HEAD, and changes the work tree and no deployer;
you make the commit.

Exit codes: 0 all adopted or none found, 1 some not adopted, 2 invalid command line or
configuration, 3 the repository, a stream or the cluster could not be read.`

const example = `  # the plan, with the forms that the cluster has
  polex adopt --dry-run --kubeconfig ~/.kube/config
  kubectl get policyexceptions -A -o yaml | polex adopt --live -
  # with rendered manifests
  kustomize build overlays/prod | polex adopt -
  helm template exceptions charts/exceptions | polex adopt -
  # plain files alone
  polex adopt --exception-namespace platform-exceptions`

type options struct {
	config, namespace, first, last, kubeconfig string
	live, expiryKeys                           []string
	dryRun                                     bool
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
				return &cli.UsageError{Err: fmt.Errorf("unexpected argument %q", args[len(args)-1]),
					Hint: "polex adopt reads the repository of the working directory; - adds rendered manifests from " +
						"standard input"}
			}
			return nil
		},
	}
	format := cli.AddFormatFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.config, "config", "", "configuration `file` (default: "+config.Name+
		" of the repository, which adopt writes if it is missing)")
	flags.StringVar(&o.namespace, "exception-namespace", "", "namespace of exceptions that state none")
	flags.StringSliceVar(&o.expiryKeys, "expiry-key", nil,
		"your own annotation or label of the expiry, a `string` for trust.expiryKeys; can be repeated")
	flags.StringVar(&o.first, "first-expiry", "30d",
		"`duration` from now to the first expiry of exceptions without one")
	flags.StringVar(&o.last, "last-expiry", "90d", "`duration` from now to the last of these expiries")
	cli.Check(flags, "first-expiry", cli.IsDuration)
	cli.Check(flags, "last-expiry", cli.IsDuration)
	cli.Check(flags, "expiry-key", lifetime.CheckKey)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "adopt what the cluster of a kubeconfig `file` has")
	flags.StringArrayVar(&o.live, "live", nil,
		"adopt what a cluster has, from a `file` of kubectl get -A -o yaml, or -; can be repeated")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the plan and change nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		progress := cli.StartProgress(streams.Err, "reading the repository")
		defer progress.Stop()
		plan, err := o.run(cmd, streams, len(args) > 0)
		if err != nil {
			return err
		}
		progress.Stop()
		return o.report(format, streams, plan)
	}
	return cmd
}

// run makes the plan from HEAD and the deployed objects, and changes the work tree.
func (o *options) run(cmd *cobra.Command, streams cli.Streams, rendered bool) (plan *adopt.Plan, err error) {
	options, notes, err := o.options(cmd, streams.Now())
	if err != nil {
		return nil, err
	}
	in := adopt.Input{Files: map[string][]byte{}, Live: map[string][]*exception.Document{}}
	if err := o.objects(cmd.Context(), streams, rendered, &in); err != nil {
		return nil, err
	}
	clone, err := commitflags.Open(streams)
	if err != nil {
		return nil, err
	}
	defer clone.Close() //nolint:errcheck // the kernel would do it
	ask := func(args ...string) string {
		out, _ := git.Git{Dir: ".", Own: true}.Run(cmd.Context(), git.Call{}, args...) //nolint:errcheck // or ""
		return strings.TrimSpace(out)
	}
	options.Origin = ask("remote", "get-url", "origin")
	options.Branch = strings.TrimPrefix(ask("symbolic-ref", "--short", "refs/remotes/origin/HEAD"), "origin/")
	_, err = clone.Apply(func(tree *git.Tree) (change commit.Change, err error) {
		large, err := read(tree, in.Files)
		if err == nil {
			plan, err = adopt.Make(in, *options)
		}
		if err != nil {
			return change, err
		}
		plan.Notes = slices.Concat(plan.Notes, notes, large)
		if !o.dryRun {
			change = commit.Change{Write: plan.Write, Remove: plan.Remove, Message: "Adopt exceptions"}
		}
		return change, nil
	})
	return plan, commitflags.Hint(err, "")
}

// objects reads the deployed objects.
func (o *options) objects(ctx context.Context, streams cli.Streams, rendered bool, in *adopt.Input) (err error) {
	const maxStream = 64 << 20 // the maximum size of the rendered stream, in bytes
	switch {
	case rendered && slices.Contains(o.live, "-"):
		return cli.Usagef("--live - and - both read standard input: write one of them to a file, and name the file " +
			"with --live")
	case rendered:
		if in.Rendered, err = cli.ReadInput("-", streams.In, maxStream); err != nil {
			return err
		}
	}
	for _, name := range o.live {
		from := name
		if name == "-" {
			from = "<live>"
		}
		if err := add(ctx, from, clusterread.File(name, streams.In, false), in); err != nil {
			return err
		}
	}
	if o.kubeconfig == "" {
		return nil
	}
	live, err := clusterread.Open(o.kubeconfig)
	if err != nil {
		return err
	}
	return add(ctx, "<cluster>", live, in)
}

// add adds the exceptions of a cluster.
func add(ctx context.Context, from string, live *clusterread.Live, in *adopt.Input) error {
	in.Live[from] = nil // perhaps it has none
	unreadable, err := live.Exceptions(ctx, func(doc *exception.Document) error {
		in.Live[from] = append(in.Live[from], doc)
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &cli.UsageError{Err: err}
	case err == nil && len(unreadable) > 0:
		return cli.Hint(fmt.Errorf("read the cluster: %s", strings.Join(unreadable, "; ")),
			"remove these objects, or adopt the others with --live")
	}
	return err
}

// read reads the files of HEAD that adopt knows, and returns notes about large ones. It follows no links: a
// kustomization that is one has no content.
func read(tree *git.Tree, files map[string][]byte) (notes []string, err error) {
	err = tree.Walk(".", func(e git.Entry) error {
		name := path.Base(e.Path)
		switch {
		case !exception.HoldsDocuments(name) && name != "Kustomization" && name != ".sourceignore":
			return nil
		case !e.IsFile():
			if strings.EqualFold(strings.TrimSuffix(name, path.Ext(name)), "kustomization") {
				files[e.Path] = nil
			}
			return nil
		}
		content, err := tree.Read(e)
		if errors.Is(err, git.ErrTooLarge) {
			notes = append(notes, fmt.Sprintf("%s: larger than %d MiB, and not read", e.Path, git.MaxFile>>20))
			return nil
		}
		files[e.Path] = content
		return err
	})
	return notes, err
}

// options rejects invalid settings before the repository is read. The notes name unreadable
// policies.
func (o *options) options(cmd *cobra.Command, now time.Time) (out *adopt.Options, notes []string, err error) {
	out = &adopt.Options{Namespace: o.namespace, Now: now}
	out.First, _ = lifetime.ParseDuration(o.first) // the flags check both
	out.Last, _ = lifetime.ParseDuration(o.last)
	if out.First > out.Last {
		return nil, nil, cli.UsageHint("add --last-expiry "+o.first+", or longer",
			"--first-expiry %s is after --last-expiry %s", o.first, o.last)
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
	out.Shape.Policies = cli.Policies(cfg.PolicyPaths(nil), unread)
	for _, r := range unread.Results() {
		notes = append(notes, fmt.Sprintf("directories.policies: %s:%d: %s", r.File, r.Line, r.Message))
	}
	if len(o.expiryKeys) > 0 && out.Configured {
		return nil, nil, cli.Usagef("--expiry-key is for a new %s: list %s under trust.expiryKeys in the existing one",
			config.Name, o.expiryKeys[0])
	}
	out.Shape.Rules.Terms.Keys = append(out.Shape.Rules.Terms.Keys, o.expiryKeys...)
	shapeconfig.WeighClaims(cfg.Promote, &out.Shape)
	return out, notes, nil
}
