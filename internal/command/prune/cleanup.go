package prune

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

const cleanupHelp = `Print a Kyverno policy for each exception that deletes it at its expiry, for clusters
without polex-guard.

Each policy names one exception and its exact expiry. The policies are printed only if
every document has one. polex-verify checks signatures; this command does not.
Kyverno needs the permission to delete exceptions, and its controller must run in UTC.

Exit codes: 0 a policy for every document, 1 a document has no expiry, has expired or is
not an exception, 2 invalid command line or configuration, 3 a file could not be read.`

const cleanupExample = `  polex-prune cleanup-policies signed/ | kubectl apply -f -
  # for Kyverno before 1.17
  polex-prune cleanup-policies --form ClusterCleanupPolicy signed/`

// maxPolicies is the maximum size in bytes of the output, which is held back until every document
// has a policy.
const maxPolicies = 64 << 20

// The reasons of results.
const (
	reasonPolicy      = "cleanup-policy"
	reasonNoPolicy    = "no-cleanup-policy"
	reasonNoException = "kind-not-allowed"
)

func newCleanupPolicies(streams cli.Streams) *cobra.Command {
	form := string(lifetime.DeletingPolicy)
	cmd := &cobra.Command{
		Use:                   "cleanup-policies [flags] PATH...",
		SuggestFor:            []string{"cleanup-policy"},
		Short:                 "Print Kyverno policies that delete expired exceptions",
		Long:                  cleanupHelp,
		Example:               cleanupExample,
		DisableFlagsInUseLine: true,
		Args:                  cli.AtLeastOnePath,
	}
	format := cli.AddFormatFlag(cmd)
	var path string
	cli.AddConfigFlag(cmd.Flags(), &path)
	cmd.Flags().StringVar(&form, "form", form, "kind of the policies: DeletingPolicy, or ClusterCleanupPolicy for Kyverno before 1.17")
	_ = cmd.RegisterFlagCompletionFunc("form", cobra.FixedCompletions([]string{string(lifetime.DeletingPolicy), string(lifetime.ClusterCleanupPolicy)}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(_ *cobra.Command, paths []string) error {
		cfg, err := cli.LoadRepositoryConfig(path)
		if err != nil {
			return err
		}
		_, trusted, err := cfg.Trust()
		if err != nil {
			return cli.InConfig(err)
		}
		c := &cleanup{streams: streams, form: lifetime.CleanupForm(form), terms: trusted.Terms, held: exception.Stream{Limit: maxPolicies},
			report: &cli.Report{Tool: "polex-prune", Done: "with a policy", Reasons: reasons()}}
		if c.form != lifetime.DeletingPolicy && c.form != lifetime.ClusterCleanupPolicy {
			return cli.Usagef("--form %q is not DeletingPolicy or ClusterCleanupPolicy", form)
		}
		cli.Inputs{Paths: paths, Stdin: streams.In, Report: c.report}.Each(c.document)
		if err := format.Write(streams.Err, c.report); err != nil {
			return err
		}
		if c.report.Status() == cli.Passed {
			content, err := c.held.Bytes()
			if err == nil {
				_, err = streams.Out.Write(content)
			}
			if err != nil {
				return err
			}
		}
		return c.report.Err()
	}
	return cmd
}

// cleanup makes policies for documents.
type cleanup struct {
	streams cli.Streams
	form    lifetime.CleanupForm
	terms   lifetime.Terms
	held    exception.Stream
	report  *cli.Report
}

func (c *cleanup) document(doc *exception.Document) {
	result := cli.ResultFor(doc)
	result.Outcome = cli.Refuse
	if !doc.GroupKind().IsException() {
		result.Reason, result.Message = reasonNoException, "this is not a PolicyException"
		c.report.Add(result)
		return
	}
	policy, err := lifetime.CleanupPolicy(doc, c.form, c.terms, c.streams.Now())
	var written *exception.Document
	if err == nil {
		written, err = exception.Parse(policy, "")
	}
	if err == nil {
		err = c.held.Add(written)
	}
	var bad *lifetime.Error
	switch {
	case errors.As(err, &bad):
		at := doc.PositionOf(bad.Path)
		result.Line, result.Column = at.Line, at.Column
		result.Reason, result.Message, result.Hint = reasonNoPolicy, bad.Message, bad.Hint
	case err != nil:
		result.Outcome, result.Reason, result.Message = cli.Unknown, reasonNoPolicy, err.Error()
	default:
		result.Outcome, result.Reason = cli.Pass, reasonPolicy
	}
	c.report.Add(result)
}
