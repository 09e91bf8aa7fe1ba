package sign

import (
	"bufio"
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
)

// newSigner makes the signer for the flags.
func (r *run) newSigner(ctx context.Context, progress func(done, total int)) (*sign.Signer, error) {
	config := r.options.sigstore
	config.Root, config.Policy, config.Rules = r.root, r.policy, r.checks.Rules
	config.Progress = progress
	config.Timing = r.streams.Timing
	if err := r.agree(); err != nil {
		return nil, err
	}
	if r.options.key != "" {
		return r.keySigner(ctx, config)
	}
	token, err := r.token(ctx)
	if err != nil {
		return nil, err
	}
	signer, err := sign.Keyless(ctx, config, r.options.fulcioURL, token, r.streams.Now())
	if errors.Is(err, sign.ErrTokenExpired) {
		return nil, cli.Hint(err, "get a fresh one; tokens of a workflow live for minutes")
	}
	if errors.Is(err, sign.ErrTokenRefused) {
		return nil, cli.Hint(err,
			"nothing was written; the token must be of an issuer that this Fulcio trusts, for its audience: "+
				r.tokenHint())
	}
	if err != nil {
		return nil, undone(err)
	}
	return signer, nil
}

// undone adds a hint to an error of a signing service. Nothing has to be cleaned up after such an
// error.
func undone(err error) error {
	if retry.Unavailable(err) {
		return cli.Hint(err, commitflags.Later)
	}
	var rejected *verify.Rejected
	if errors.As(err, &rejected) && rejected.Reason == verify.ReasonCertificateNotValid {
		return cli.Hint(err,
			"nothing was written; the certificate must be valid for the whole batch: sign fewer files at once")
	}
	return cli.Hint(err, "nothing was written; correct the cause and run it again")
}

// token returns an identity token: from the flag, from the environment, or from an interactive
// login.
func (r *run) token(ctx context.Context) (string, error) {
	if given := r.options.identityToken; given != "" {
		return readToken(given)
	}
	client := r.client()
	token, err := sign.AmbientToken(ctx, client, r.streams.Timing)
	if err == nil {
		return token, nil
	}
	if !errors.Is(err, sign.ErrNoToken) {
		return "", undone(err)
	}
	if !cli.IsTerminal(r.streams.In) {
		return "", cli.Hint(err, r.tokenHint())
	}
	_, _ = fmt.Fprintln(r.streams.Err, "Sign in to sign with your identity. Your address becomes part of a "+
		"certificate that is recorded in a public log.")
	return sign.InteractiveToken(ctx, sign.Flow{Issuer: r.options.oidcIssuer, ClientID: client,
		Device: r.options.device, In: r.streams.In, Out: r.streams.Err})
}

// client returns the audience of identity tokens.
func (r *run) client() string { return cmp.Or(r.options.oidcClientID, sign.DefaultClientID) }

// tokenHint describes how a job gets an identity token.
func (r *run) tokenHint() string {
	if os.Getenv("GITLAB_CI") != "" {
		return fmt.Sprintf("in GitLab, give the job id_tokens: {SIGSTORE_ID_TOKEN: {aud: %s}}", r.client())
	}
	return "in GitHub Actions, give the job the permission id-token: write; elsewhere pass --identity-token, or --key"
}

// readToken returns the token in the flag, or the content of the file that it names.
func readToken(given string) (string, error) {
	if strings.Count(given, ".") == 2 && !strings.ContainsAny(given, "/\\ \n") && len(given) > 64 {
		return given, nil
	}
	raw, err := cli.ReadFile(given)
	if err != nil {
		return "", &cli.UsageError{Err: fmt.Errorf(
			"--identity-token is not a token, and not a file that can be read: %w", err)}
	}
	return strings.TrimSpace(string(raw)), nil
}

func (r *run) keySigner(ctx context.Context, config sign.Config) (*sign.Signer, error) {
	if sign.IsKMS(r.options.key) {
		signer, err := sign.WithKMS(ctx, config, r.options.key)
		if err != nil {
			return nil, &cli.UsageError{Err: fmt.Errorf("--key: %w", err)}
		}
		return signer, nil
	}
	raw, err := cli.ReadFile(r.options.key)
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("--key: %w", err)}
	}
	if block, _ := pem.Decode(raw); block == nil {
		return nil, cli.Usagef("--key %s is not a private key in PEM, such as cosign generate-key-pair writes",
			r.options.key)
	}
	password, err := r.password()
	if err != nil {
		return nil, err
	}
	signer, err := sign.WithKey(config, raw, password)
	if err != nil {
		return nil, cli.Hint(err, "is COSIGN_PASSWORD right, and did cosign make the key?")
	}
	return signer, nil
}

// password reads the password of the key from COSIGN_PASSWORD, as cosign does, or asks for it.
func (r *run) password() ([]byte, error) {
	if password, set := os.LookupEnv("COSIGN_PASSWORD"); set {
		return []byte(password), nil
	}
	terminal, ok := r.streams.In.(*os.File)
	if !ok || !cli.IsTerminal(terminal) {
		return nil, &cli.UsageError{Err: errors.New("there is no password for the key"), Hint: "set COSIGN_PASSWORD"}
	}
	_, _ = io.WriteString(r.streams.Err, "Password of the key: ")
	password, err := term.ReadPassword(int(terminal.Fd()))
	_, _ = io.WriteString(r.streams.Err, "\n")
	if err != nil {
		return nil, fmt.Errorf("read password: %w", err)
	}
	return password, nil
}

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
	public := isPublic(r.options.sigstore.RekorURL, sign.PublicRekorURL) ||
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
	u, err := url.Parse(cmp.Or(address, otherwise))
	return err == nil && (u.Hostname() == "sigstore.dev" || strings.HasSuffix(u.Hostname(), ".sigstore.dev"))
}
