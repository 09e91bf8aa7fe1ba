package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/cmd/internal/trustflags"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

const help = `Verify that exceptions are sealed by someone who is trusted, that they are
exactly what was signed, and that they have not expired.

PATH is a file, a folder (every .yaml, .yml and .json below it) or - for
standard input. Who is trusted comes from flags and from --config alone, never
from the environment or from what is verified. Nothing is fetched: the trusted
root is a file, or the public-good one that is built in.

With --bundle, one document that carries no seal is verified by the Sigstore
bundle beside it, as polex-sign --bundle and cosign sign-blob write it: the
bundle has to sign every byte of the file.

Exits 0 if and only if at least one document was found and every one passed,
1 if one was refused, 2 for a command line that cannot be meant, and 3 if one
could not be decided or there was nothing to verify.`

const example = `  # what the workflow of acme/exceptions signed on main
  polex-verify signed/ \
    --certificate-identity https://github.com/acme/exceptions/.github/workflows/sign.yaml@refs/heads/main \
    --certificate-oidc-issuer https://token.actions.githubusercontent.com

  # a document without a seal, which cosign sign-blob --new-bundle-format --bundle signed
  polex-verify --config polex.yaml --bundle mongo.sigstore.json mongo.yaml

  # what the cluster holds
  kubectl get policyexception -n platform mongo -o yaml | polex-verify --config polex.yaml -`

func newCommand(streams cli.Streams) *cobra.Command {
	var configPath string
	cmd := &cobra.Command{
		Use:                   "polex-verify [flags] PATH...",
		Short:                 "Verify that exceptions are signed, unchanged and unexpired",
		Long:                  help,
		Example:               example,
		DisableFlagsInUseLine: true,
		Args:                  cli.AtLeastOnePath,
	}
	format := cli.AddFormatFlag(cmd)
	cmd.Flags().StringVar(&configPath, "config", "", "`file` with the configuration, whose trust policy is used")
	trusted := trustflags.Add(cmd)
	trusted.AddKey(cmd)
	detached := addBundleFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, paths []string) error {
		if err := detached.check(paths); err != nil {
			return err
		}
		cfg, err := cli.LoadConfig(configPath)
		if err != nil {
			return err
		}
		policy, err := trusted.Policy(cfg)
		if err != nil {
			return err
		}
		verifier, err := verify.New(policy)
		if err != nil {
			return err
		}
		report := &cli.Report{Tool: "polex-verify", Docs: docs()}
		run := run{verifier: verifier, report: report, now: streams.Now()}
		inputs := cli.Inputs{Paths: paths, Stdin: streams.In, Report: report}
		if detached.on() {
			detached.verify(&run, inputs)
		} else {
			inputs.Each(run.document)
		}
		if err := format.Write(streams.Out, report); err != nil {
			return err
		}
		return report.Err()
	}
	return cmd
}

// Reasons that are the command's own.
const (
	reasonDuplicate = "duplicate-identity"
	reasonUndecided = "undecided"
)

// docs says in a line what each reason means.
func docs() map[string]string {
	all := map[string]string{}
	for _, reason := range verify.Reasons() {
		all[string(reason)] = reason.Doc()
	}
	return all
}

type run struct {
	verifier *verify.Verifier
	report   *cli.Report
	now      time.Time
	met      exception.Identities
}

func (r *run) document(doc *exception.Document) {
	verified, err := r.verifier.Verify(doc, r.now)
	r.settle(doc, verified, err, nil)
}

// settle puts a document on the report. Its hints win over the general ones.
func (r *run) settle(doc *exception.Document, verified *verify.Verified, err error, special map[verify.Reason]string) {
	result := cli.ResultFor(doc)
	var rejected *verify.Rejected
	switch {
	case errors.As(err, &rejected):
		result.Outcome, result.Reason, result.Message = cli.Refuse, string(rejected.Reason), rejected.Detail
		if result.Hint = special[rejected.Reason]; result.Hint == "" {
			result.Hint = hints[rejected.Reason]
		}
	case err != nil:
		result.Outcome, result.Reason, result.Message = cli.Unknown, reasonUndecided, err.Error()
	default:
		if first, again := r.met.Add(doc); again {
			result.Outcome, result.Reason = cli.Refuse, reasonDuplicate
			result.Message = fmt.Sprintf("%s is already at %s", doc.Identity(), first)
			result.Hint = "only one of the two can be applied: keep the one that was approved"
			break
		}
		result.Outcome, result.Reason = cli.Pass, "verified"
		result.Message, result.Details = describe(verified)
	}
	r.report.Add(result)
}

// describe says who signed, when, and until when it counts.
func describe(v *verify.Verified) (string, map[string]any) {
	details := map[string]any{}
	message := ""
	var signatures []map[string]any
	for _, s := range v.Signatures() {
		signature := map[string]any{"authority": s.Authority, "checked": s.Checked}
		who := fmt.Sprintf("the key %q", s.Authority)
		if s.Identity.Subject != "" {
			who = s.Identity.Subject
			signature["issuer"], signature["subject"], signature["claims"] = s.Identity.Issuer, s.Identity.Subject, s.Identity.Claims
		}
		said := "signed by " + who
		if !s.WitnessedAt.IsZero() {
			said += " at " + clock(s.WitnessedAt)
			signature["witnessedAt"] = clock(s.WitnessedAt)
		}
		if s.LogIndex >= 0 {
			said += fmt.Sprintf(" (log index %d)", s.LogIndex)
			signature["log"], signature["logIndex"] = s.LogURL, s.LogIndex
		}
		signatures = append(signatures, signature)
		if s.Authority == "" {
			continue
		}
		if message != "" {
			message += ", "
		}
		message += said
	}
	details["signatures"] = signatures
	if v.ExpiresAt().IsZero() {
		return message + ", without an end", details
	}
	details["expiresAt"] = clock(v.ExpiresAt())
	return message + ", until " + clock(v.ExpiresAt()), details
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
