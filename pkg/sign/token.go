package sign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/sigstore/cosign/v2/pkg/cosign/env"
	"github.com/sigstore/cosign/v2/pkg/providers"
	"github.com/sigstore/sigstore/pkg/oauthflow"

	"github.com/polex-dev/polex/internal/retry"

	// The environments with identity tokens, besides GitHub Actions.
	_ "github.com/sigstore/cosign/v2/pkg/providers/buildkite"
	_ "github.com/sigstore/cosign/v2/pkg/providers/envvar"
	_ "github.com/sigstore/cosign/v2/pkg/providers/filesystem"
)

// ErrNoToken means that the environment has no identity token.
var ErrNoToken = errors.New("there is no identity to sign with")

// AmbientToken gets an identity token for clientID from the environment: GitHub Actions, Buildkite,
// a mounted service account token, or SIGSTORE_ID_TOKEN. It returns [ErrNoToken] if there is none.
func AmbientToken(ctx context.Context, clientID string, timing Timing) (string, error) {
	if address, bearer := env.Getenv(env.VariableGitHubRequestURL), env.Getenv(
		env.VariableGitHubRequestToken); address != "" && bearer != "" {
		token, err := gitHubToken(ctx, address, bearer, clientID, timing)
		if err != nil {
			return "", fmt.Errorf("identity token of GitHub Actions: %w", err)
		}
		return token, nil
	}
	if !providers.Enabled(ctx) {
		return "", ErrNoToken
	}
	token, err := providers.Provide(ctx, clientID)
	if err != nil {
		return "", fmt.Errorf("identity token: %w", err)
	}
	if token == "" { // of an empty variable
		return "", ErrNoToken
	}
	return token, nil
}

// gitHubToken requests a token from the service that GitHub gives a job with id-token: write. It
// retries like the requests to Sigstore. cosign's provider would accept any answer of the service
// as a token.
func gitHubToken(ctx context.Context, address, bearer, clientID string, timing Timing) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"&audience="+url.QueryEscape(clientID), nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	request.Header.Set("User-Agent", "polex")
	client := http.Client{Transport: retry.Transport{Timing: timing}}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", retry.Returned(response.StatusCode, answer)
	}
	var said struct{ Value string }
	if err := json.Unmarshal(answer, &said); err != nil || said.Value == "" {
		return "", errors.New("its answer holds no token")
	}
	return said.Value, nil
}

// Flow configures the interactive sign-in of a person.
type Flow struct {
	Issuer   string // "" for the public-good instance
	ClientID string // "" for DefaultClientID
	Device   bool   // with a code on another device instead of a browser here
	In       io.Reader
	Out      io.Writer // prompts
}

// InteractiveToken lets a person sign in with a browser, or with a code on another device, and
// returns the identity token. It stops when ctx ends.
func InteractiveToken(ctx context.Context, f Flow) (string, error) {
	f.Issuer = cmp.Or(f.Issuer, PublicOIDCIssuer)
	f.ClientID = cmp.Or(f.ClientID, DefaultClientID)
	type answer struct {
		token *oauthflow.OIDCIDToken
		err   error
	}
	// The library takes no context, so it continues when the caller stops waiting.
	answers := make(chan answer, 1)
	go func() {
		token, err := oauthflow.OIDConnect(f.Issuer, f.ClientID, "", "", f.getter())
		answers <- answer{token, err}
	}()
	select {
	case <-ctx.Done():
		return "", fmt.Errorf("sign in at %s: %w", f.Issuer, ctx.Err())
	case a := <-answers:
		if a.err != nil {
			return "", fmt.Errorf("sign in at %s: %w", f.Issuer, a.err)
		}
		return a.token.RawString, nil
	}
}

func (f Flow) getter() oauthflow.TokenGetter {
	if f.Device {
		device := oauthflow.NewDeviceFlowTokenGetterForIssuer(f.Issuer)
		device.MessagePrinter = func(text string) { _, _ = fmt.Fprintln(f.Out, text) }
		return device
	}
	return &oauthflow.InteractiveIDTokenGetter{
		HTMLPage: "<!doctype html><title>polex</title><p>Signed in. You can close this page and go back to your " +
			"terminal.",
		Input: f.In, Output: f.Out,
	}
}
