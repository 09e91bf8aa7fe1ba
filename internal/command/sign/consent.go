package sign

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/sign"
)

const publishes = `This signs with the public Sigstore. Its logs are public, and nothing can be removed from them. They will show
  - %s
  - when it was signed, and a digest of each exception, but not the exception itself.
A private Sigstore publishes nothing of this: docs/explanation/workflow.md#privacy, or --fulcio-url and --rekor-url.
`

// The signer's data that the logs of the public Sigstore show.
const (
	publishesIdentity = "the identity that signs: your e-mail address, or the repository, workflow, commit and run"
	publishesKey      = "the public key that signs"
)

// agree asks for consent once before it publishes data of a person in public logs, as cosign does.
// Without a terminal, for example in CI, it does not ask, because the run was configured on
// purpose.
func (r *run) agree() error {
	who := publishesIdentity
	keyless := r.options.key == ""
	if !keyless {
		who = publishesKey
	}
	public := isPublic(r.options.rekorURL, sign.PublicRekorURL) ||
		keyless && isPublic(r.options.fulcioURL, sign.PublicFulcioURL)
	if public && os.Getenv("POLEX_SANDBOX") != "" { // a trial must not publish an identity
		return &cli.UsageError{Err: errors.New(
			"inside polex-sandbox run, polex-sign does not sign with the public Sigstore"),
			Hint: `add --config "$POLEX_SANDBOX/polex.yaml", or the output of polex-sandbox config`}
	}
	if !public || r.options.yes || !cli.IsTerminal(r.streams.In) {
		return nil
	}
	if _, err := fmt.Fprintf(r.streams.Err, publishes+"Publish it? [y/N] ", who); err != nil {
		return err
	}
	answer, err := bufio.NewReader(io.LimitReader(r.streams.In, 64)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	default:
		return cli.Hint(errors.New("nothing was signed: the answer was not yes"),
			"--yes answers it; --key, --fulcio-url and --rekor-url sign without the public Sigstore")
	}
}

// isPublic reports whether an address belongs to the public Sigstore. An empty address means the
// default.
func isPublic(address, otherwise string) bool {
	if address == "" {
		address = otherwise
	}
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "sigstore.dev" || strings.HasSuffix(u.Hostname(), ".sigstore.dev"))
}
