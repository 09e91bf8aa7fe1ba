package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/internal/guard/doctor"
	"github.com/polex-dev/polex/internal/guard/static"
	"github.com/polex-dev/polex/policies"
)

const checkHelp = `Check the installation of the guard: the webhook, its certificate, other webhooks and
conversions that change exceptions, and the policies that protect the guard. Check also the
flags and permissions of Kyverno, the permissions of the guard, its Lease and the clock.

Run it in the Pod of the guard, with its ServiceAccount. It changes nothing: it sends what
the guard writes as a dry run.

Exit codes: 0 no finding, 1 findings, 2 invalid command line or configuration, 3
something could not be checked.`

type checkFlags struct {
	doctor.Config
	cluster        clusterFlags
	config, static string
}

func newCheckCommand(streams cli.Streams) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Check how the guard is installed",
		Long:  checkHelp,
		Example: "  kubectl exec -n polex-system deploy/polex-guard -- " +
			"/polex-guard check --config /etc/polex/config.yaml",
		Args:                  cli.UnknownCommand,
		DisableFlagsInUseLine: true,
	}
	format := cli.AddFormatFlag(cmd)
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		report, err := f.check(cmd.Context(), streams.Now)
		if err != nil {
			return err
		}
		return cli.Finish(format, streams.Out, report)
	}
	return cmd
}

func (f *checkFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.cluster.add(cmd)
	flags.StringVar(&f.config, "config", "", "configuration `file` of the guard (required)")
	flags.StringVar(&f.static, "static", "",
		"`folder` with webhooks/ and policies/, a copy of that of the API servers")
	flags.StringArrayVar(&f.Servers, "server", nil, "with --static, `URL` of an API server; can be repeated "+
		"(default: the endpoints of the Service kubernetes)")
	addNamespace(cmd, &f.Namespace)
	flags.StringVar(&f.SelfManaged, "self-managed-certificate", "",
		"name of the Secret in which the guard keeps its own certificate")
	flags.StringVar(&f.Kyverno, "kyverno-namespace", "kyverno", "namespace of Kyverno")
}

func (f *checkFlags) check(ctx context.Context, now func() time.Time) (*cli.Report, error) {
	if f.config == "" {
		return nil, errNoConfig
	}
	var missing error
	f.Namespace, missing = namespaceOf(f.Namespace)
	rules, err := loader(f.config, f.Namespace)("")
	switch {
	case err != nil:
		return nil, asUsage(err)
	case missing != nil:
		return nil, missing
	}
	if f.Static, err = f.files(); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	config, _, err := f.cluster.restConfig(now())
	if err != nil {
		return nil, err
	}
	config.Timeout = 10 * time.Second
	if f.HTTP, err = rest.HTTPClientFor(config); err != nil {
		return nil, err
	}
	if f.Client, err = client.New(config, client.Options{HTTPClient: f.HTTP}); err != nil {
		return nil, err
	}
	if f.Protect, err = fs.Sub(policies.Files, "guard/protect"); err != nil {
		return nil, err
	}
	f.Host, f.Now, f.Webhook, f.Deadline = config.Host, now, webhookName, guard.DefaultDeadline
	f.Kinds, f.Guards = rules.Kinds(), rules.Guards
	report := &cli.Report{Tool: "polex-guard", Reasons: doctor.Reasons()}
	for _, finding := range doctor.Run(ctx, f.Config) {
		report.Documents++
		report.Add(cli.Result{
			Outcome: outcomes[finding.Outcome], File: finding.Subject,
			Reason: finding.Reason, Message: finding.Message, Hint: finding.Hint,
		})
	}
	return report, nil
}

// files reads a copy of the folder of the API servers. It returns nil if no folder is given.
func (f *checkFlags) files() (*static.Set, error) {
	for _, server := range f.Servers {
		if u, err := url.Parse(server); err != nil || u.Scheme != "https" || u.String() != "https://"+u.Host {
			return nil, fmt.Errorf("--server: %q is not https://HOST:PORT", server)
		}
	}
	if f.static == "" {
		if len(f.Servers) > 0 {
			return nil, errors.New("--server requires --static")
		}
		return nil, nil
	}
	set, err := static.ReadSet(f.static)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--static: %w", err)
	case f.SelfManaged != "":
		return nil, errors.New("--self-managed-certificate cannot be combined with --static: " +
			"the guard cannot write its CA into a file of the API server")
	}
	return set, nil
}

var outcomes = map[doctor.Outcome]cli.Outcome{
	doctor.Fine: cli.Pass, doctor.Doubtful: cli.Warn, doctor.Unknown: cli.Unknown, doctor.Wrong: cli.Refuse,
}
