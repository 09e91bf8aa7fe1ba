package request

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// run is one run of the command.
type run struct {
	options *options
	streams cli.Streams
	format  *cli.Format
	cfg     *config.Config
	root    string // root of the repository, relative to the working directory; "" without a repository
	folders config.Directories
	config  shape.Config
	objects []*exception.Document // manifests
	report  *cli.Report
	now     time.Time
	foreign int // results of engines other than Kyverno
}

// The reasons that only this command has.
const (
	reasonDrafted      = "drafted"
	reasonThere        = "already-requested"
	reasonLive         = "already-signed"
	reasonInTheWay     = "in-the-way"
	reasonNoViolations = "no-violations"
	reasonNote         = "to-be-checked"
)

// load rejects an invalid command line or configuration, and reads policies and manifests.
func (o *options) load(cmd *cobra.Command, streams cli.Streams, format *cli.Format) (*run, error) {
	cfg, err := cli.LoadRepositoryConfig(o.config)
	if err != nil {
		return nil, err
	}
	r := &run{options: o, streams: streams, format: format, cfg: cfg, now: streams.Now()}
	if r.root, err = repositoryRoot(); err != nil {
		return nil, err
	}
	r.folders.Unsigned = cmp.Or(cfg.Directories.Unsigned, "unsigned")
	r.folders.Signed = cmp.Or(cfg.Directories.Signed, "signed")
	if r.config, err = shapeconfig.Config(cfg, cmd.Flags()); err != nil {
		return nil, err
	}
	r.report = &cli.Report{Tool: "polex-request", Done: "drafted", Reasons: reasons(r.config)}
	r.config.Policies = cli.Policies(cfg.PolicyPaths(o.policies), r.report)
	if len(o.resources) > 0 {
		r.objects = slices.Collect(cli.Documents(o.resources, r.report, cli.Warn))
		r.config.Resources = shape.ReadResources(r.objects)
	}
	cli.Given(r.report, "--policies", o.policies)
	cli.Given(r.report, "--resources", o.resources)
	if o.namespace == "" && len(r.config.Namespaces) == 1 && !strings.ContainsAny(r.config.Namespaces[0], "*?") {
		o.namespace = r.config.Namespaces[0]
	}
	return r, nil
}

// inRepository returns the path of a folder of the repository.
func (r *run) inRepository(folder string) string {
	return filepath.Join(r.root, filepath.FromSlash(folder))
}

// repositoryRoot returns the root of the repository, relative to the working directory.
func repositoryRoot() (string, error) {
	root, err := config.RepositoryRoot(".")
	if err != nil || root == "" {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	return filepath.Rel(here, root)
}

// request drafts exceptions for violations.
func (r *run) request(ctx context.Context, paths []string) error {
	violations, err := r.violations(ctx, paths)
	if err != nil {
		return err
	}
	violations = slices.DeleteFunc(violations, func(v request.Violation) bool { return !r.options.choice.Selects(v) })
	if len(violations) == 0 {
		return r.nothing(paths)
	}
	say := &r.options.say
	if err := say.complete(say.questions(r.config.Require), r.streams); err != nil {
		return err
	}
	drafts, problems, err := request.New(violations, request.Options{
		Policies: r.config.Policies, Objects: r.objects, Namespace: r.options.namespace, Statements: say.Statements,
		Merge: r.options.merge, MaxPolicies: *r.config.MaxPolicies,
	})
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	for _, p := range problems {
		r.refuse(p)
	}
	return r.put(drafts)
}

// nothing ends a run without violations.
func (r *run) nothing(paths []string) error {
	if r.report.Count(cli.Refuse)+r.report.Count(cli.Unknown) > 0 {
		return r.end() // the report has the reasons
	}
	message := "found no violation to draft an exception for"
	if r.options.choice.any() {
		message += " that --policy, --rule, --about and --namespace select"
	}
	if r.foreign > 0 {
		message += fmt.Sprintf("; %d results are not from Kyverno, and an exception has no effect on them", r.foreign)
	}
	result := cli.Result{Outcome: cli.Unknown, Reason: reasonNoViolations, Message: message}
	if len(paths) == 1 {
		result.File = nameOf(paths[0])
	}
	if r.options.from == fromDenial {
		result.Hint = "give the whole error of kubectl, or name the violation with --policy, --rule and --about"
	}
	r.report.Add(result)
	return r.end()
}

func (r *run) end() error { return cli.Finish(r.format, r.results(), r.report) }

func (r *run) add(result cli.Result) { r.report.Documents++; r.report.Add(result) }

// refuse adds a violation without a draft to the report.
func (r *run) refuse(p request.Problem) {
	at := p.Violation.Position
	result := cli.Result{Outcome: cli.Refuse, File: at.File, Line: at.Line, Column: at.Column,
		Reason: p.Reason, Message: p.Message, Hint: p.Hint}
	if p.Violation.Resource.Kind != "" {
		result.Object = p.Violation.Resource.String()
	}
	r.add(result)
}

// reasons returns the reasons of the results.
func reasons(config shape.Config) []exception.Reason {
	return slices.Concat(request.Reasons(), shapeconfig.Reasons(config), []exception.Reason{
		{Name: reasonDrafted, Doc: "the exception is drafted", Severity: exception.SeverityNote},
		{Name: reasonThere, Doc: "the same draft exists already", Severity: exception.SeverityNote},
		{Name: reasonLive, Doc: "a signed exception of the same name exists, and has not expired",
			Severity: exception.SeverityNote},
		{Name: reasonInTheWay, Doc: "the file exists with different content"},
		{Name: reasonNoViolations, Doc: "the source has no violation"},
		{Name: reasonNote, Doc: "the draft may not fit, as the message explains", Severity: exception.SeverityWarning},
	})
}
