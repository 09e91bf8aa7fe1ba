package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/guard"
	"github.com/polex-dev/polex/pkg/guard/doctor"
)

const checkHelp = `Say what would let an exception past the guard, or keep the guard from doing what
it is there for: how the webhook is registered, its certificate, Kyverno's flags,
what the guard is permitted to do, and its clock.

Run it in a Pod with the guard's ServiceAccount, whose permissions it asks about.
It changes nothing.

Exits 0 if everything is as it should be, 1 if something is wrong, 2 for a command
line or a configuration that cannot be meant, and 3 if something could not be
found out.`

type checkFlags struct {
	cluster     clusterFlags
	Config      string
	Webhook     string
	Namespace   string
	SelfManaged string
	Kyverno     string
	Deadline    time.Duration
}

func newCheckCommand(streams cli.Streams) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:                   "check --config FILE",
		Short:                 "Say what is wrong with how the guard is installed",
		Long:                  checkHelp,
		Example:               "  kubectl exec -n polex-system deploy/polex-guard -- /polex-guard check --config /etc/polex/config.yaml",
		Args:                  noArguments,
		DisableFlagsInUseLine: true,
	}
	format := cli.AddFormatFlag(cmd)
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		report, err := f.check(cmd.Context(), streams.Now)
		if err != nil {
			return err
		}
		if err := format.Write(streams.Out, report); err != nil {
			return err
		}
		return report.Err()
	}
	return cmd
}

func (f *checkFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.cluster.add(cmd)
	flags.StringVar(&f.Config, "config", "", "`file` with the guard's configuration")
	flags.StringVar(&f.Webhook, "webhook-name", defaultWebhook, "`name` of the ValidatingWebhookConfiguration")
	flags.StringVar(&f.Namespace, "namespace", "", "`namespace` of the guard's Lease (default: that of the Pod)")
	flags.StringVar(&f.SelfManaged, "self-managed-certificate", "", "`name` of the Secret that the guard keeps a certificate of its own in, where it does")
	flags.StringVar(&f.Kyverno, "kyverno-namespace", "kyverno", "`namespace` of Kyverno")
	flags.DurationVar(&f.Deadline, "deadline", guard.DefaultDeadline, "how `long` the guard lets a request take")
}

func (f *checkFlags) check(ctx context.Context, now func() time.Time) (*cli.Report, error) {
	if f.Config == "" {
		return nil, errNoConfig
	}
	rules, err := loader(f.Config)("")
	if err != nil {
		return nil, asUsage(err)
	}
	if f.Namespace, err = namespaceOf(f.Namespace); err != nil {
		return nil, err
	}
	config, err := f.cluster.restConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = 10 * time.Second
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{HTTPClient: http})
	if err != nil {
		return nil, err
	}
	report := &cli.Report{Tool: "polex-guard"}
	for _, found := range doctor.Run(ctx, doctor.Config{
		Client: live, HTTP: http, Host: config.Host, Now: now, Kinds: rules.Kinds(),
		Webhook: f.Webhook, Deadline: f.Deadline, Namespace: f.Namespace, SelfManaged: f.SelfManaged, Kyverno: f.Kyverno,
	}) {
		report.Documents++
		report.Add(cli.Result{Outcome: outcomes[found.Outcome], File: found.Subject, Reason: found.Reason, Message: found.Message, Hint: found.Hint})
	}
	return report, nil
}

var outcomes = map[doctor.Outcome]cli.Outcome{doctor.Fine: cli.Pass, doctor.Doubtful: cli.Warn, doctor.Unknown: cli.Unknown, doctor.Wrong: cli.Refuse}
