package sign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/theupdateframework/go-tuf/v2/metadata/fetcher"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/internal/tufroot"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
)

const trustedRootHelp = `Fetch the trusted root of a Sigstore from its TUF repository and write it to a file,
for --trusted-root and the setting trust.trustedRoot.

trusted-root verifies the repository from its TUF root metadata: the built-in one of the
public-good Sigstore, or --root. Commit the file after a review: no polex command
fetches it while it verifies.

Exit codes: 0 up to date, 2 invalid command line, 3 the repository cannot be reached,
is not trusted, has expired or has no trusted root. With 3, the file stays unchanged.`

const trustedRootExample = `  # the public-good Sigstore
  polex-sign trusted-root --output-file trusted_root.json
  # a private one
  polex-sign trusted-root --output-file trusted_root.json --mirror https://tuf.example.com --root root.json`

// fetchTimeout is the timeout for all files, requestTimeout the one for each file.
const (
	fetchTimeout   = 2 * time.Minute
	requestTimeout = 30 * time.Second
)

// The reasons of the command.
const (
	reasonRefreshed = "refreshed"
	reasonUnchanged = "unchanged"
	reasonGone      = "gone"
)

func rootReasons() []exception.Reason {
	return []exception.Reason{
		{Name: reasonRefreshed, Doc: "the file holds the new trusted root", Severity: exception.SeverityNote},
		{Name: reasonUnchanged, Doc: "the file holds the trusted root already", Severity: exception.SeverityNote},
		{Name: reasonGone, Doc: "the new trusted root lacks a service that the old one had",
			Severity: exception.SeverityWarning},
	}
}

func newTrustedRoot(streams cli.Streams) *cobra.Command {
	var output, mirror, rootPath string
	cmd := &cobra.Command{
		Use:                   "trusted-root --output-file FILE [flags]",
		Short:                 "Fetch the trusted root of a Sigstore from its TUF repository",
		Long:                  trustedRootHelp,
		Example:               trustedRootExample,
		DisableFlagsInUseLine: true,
	}
	format := cli.AddFormatFlag(cmd)
	cmd.Flags().StringVar(&output, "output-file", "", "write the trusted root to a `file` (required)")
	cmd.Flags().StringVar(&mirror, "mirror", "", "`url` of the TUF repository (default: "+tufroot.PublicMirror+")")
	cmd.Flags().StringVar(&rootPath, "root",
		"", "`file` with the TUF root metadata, root.json (default: the public-good Sigstore, built in)")
	cli.Writes(cmd.Flags(), "output-file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		source := tufroot.Source{Mirror: mirror}
		switch err := retry.CheckAddress(mirror); {
		case len(args) > 0:
			return cli.Usagef("trusted-root accepts no paths; --output-file names the file")
		case output == "":
			return &cli.UsageError{Err: errors.New("missing required flag: --output-file"),
				Hint: "add --output-file trusted_root.json"}
		case err != nil && mirror != "":
			return &cli.UsageError{Err: fmt.Errorf("--mirror %q: %w", mirror, err),
				Hint: "write it like https://tuf.example.com"}
		}
		if rootPath != "" {
			var err error
			if source.Root, err = cli.ReadFile(rootPath); err != nil {
				return &cli.UsageError{Err: fmt.Errorf("read TUF root: %w", err)}
			}
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), fetchTimeout)
		defer cancel()
		source.Fetcher = newFetcher(ctx)
		report := &cli.Report{Tool: "polex-sign", Reasons: rootReasons(), Documents: 1}
		if err := refresh(source, output, report); err != nil {
			return err
		}
		return cli.Finish(format, streams.Out, report)
	}
	return cmd
}

// refresh updates a file and adds its content to the report.
func refresh(source tufroot.Source, path string, report *cli.Report) error {
	old, err := os.ReadFile(path) // #nosec G304 -- the user names it
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fetched, err := tufroot.Fetch(source)
	if err != nil {
		return cli.Hint(err, fetchHint(err))
	}
	reason := reasonUnchanged
	if string(old) != string(fetched.JSON) {
		if err := cli.WriteFile(path, fetched.JSON); err != nil {
			return err
		}
		reason = reasonRefreshed
	}
	held := map[string]bool{}
	for _, h := range fetched.Root.Services() {
		held[h.Kind+h.ID] = true
		report.Add(cli.Result{Outcome: cli.Pass, File: path, Reason: h.Kind, Message: describe(h), Details: details(h)})
	}
	// A new root may lack a service that the valid old root had. The repository may have been
	// rolled back, or the service may not be trusted any more. A person must decide.
	if before, err := trust.ParseRoot(old, path); err == nil {
		for _, h := range before.Services() {
			if !held[h.Kind+h.ID] {
				report.Add(cli.Result{Outcome: cli.Warn, File: path, Reason: reasonGone,
					Message: "the " + h.Kind + " of the old file is missing: " + describe(h), Details: details(h)})
			}
		}
	}
	good := fetched.GoodUntil.UTC().Format(time.RFC3339)
	report.Add(cli.Result{Outcome: cli.Pass, File: path, Reason: reason,
		Message: fmt.Sprintf("from %s, TUF root version %d, valid until %s", fetched.Mirror, fetched.RootVersion, good),
		Details: map[string]any{"mirror": fetched.Mirror, "tufRootVersion": fetched.RootVersion, "goodUntil": good}})
	return nil
}

func fetchHint(err error) string {
	const stays = "the file stays as it was; "
	switch {
	case errors.Is(err, tufroot.ErrExpired):
		return stays + "is this machine's clock right? If so, the repository is not maintained, or an attacker " +
			"withholds newer versions"
	case errors.Is(err, tufroot.ErrUntrusted):
		return stays + "an attacker may have changed the repository; if it is a private one, is --root its root.json?"
	case errors.Is(err, tufroot.ErrUnusable):
		return stays + "is --mirror the TUF repository of a Sigstore?"
	default:
		return stays + "correct the cause and run it again"
	}
}

func describe(h trust.Service) string {
	text := cmp.Or(h.URL, h.ID)
	if !h.From.IsZero() {
		text += " from " + h.From.UTC().Format(time.DateOnly)
	}
	if !h.Until.IsZero() {
		text += " until " + h.Until.UTC().Format(time.DateOnly)
	}
	return text
}

func details(h trust.Service) map[string]any {
	d := map[string]any{"url": h.URL, "id": h.ID}
	for name, at := range map[string]time.Time{"from": h.From, "until": h.Until} {
		if !at.IsZero() {
			d[name] = at.UTC().Format(time.RFC3339)
		}
	}
	return d
}

// newFetcher returns a fetcher of TUF repositories whose requests end with ctx.
func newFetcher(ctx context.Context) fetcher.Fetcher {
	client := http.Client{Timeout: requestTimeout}
	f := fetcher.NewDefaultFetcher()
	f.SetHTTPUserAgent("polex")
	f.SetHTTPClient(doer(func(r *http.Request) (*http.Response, error) {
		return client.Do(r.WithContext(ctx)) //nolint:gosec // the user names the address
	}))
	return f
}

// doer is an HTTP client of go-tuf.
type doer func(*http.Request) (*http.Response, error)

// Do sends a request.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }
