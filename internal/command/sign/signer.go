package sign

import (
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
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
	config := r.options.sigstore()
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
