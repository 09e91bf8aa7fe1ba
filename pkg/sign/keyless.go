package sign

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	sgsign "github.com/sigstore/sigstore-go/pkg/sign"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// ErrTokenExpired is returned for an identity token whose time is over.
var ErrTokenExpired = errors.New("the identity token has expired")

// Keyless makes a signer for the identity that the OIDC token names: one
// ephemeral key, and one certificate from Fulcio, which lives for minutes. An
// empty fulcioURL means the public-good instance. The token is sent to Fulcio
// and nowhere else; one that has expired at now is not sent at all.
func Keyless(ctx context.Context, config Config, fulcioURL, token string, now time.Time) (*Signer, error) {
	if fulcioURL == "" {
		fulcioURL = PublicFulcioURL
	}
	if err := config.complete(); err != nil {
		return nil, err
	}
	if err := checkToken(token, now); err != nil {
		return nil, err
	}
	keypair, err := sgsign.NewEphemeralKeypair(nil)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	fulcio := sgsign.NewFulcio(&sgsign.FulcioOptions{BaseURL: strings.TrimSuffix(fulcioURL, "/"), Timeout: requestTimeout,
		Transport: patient{ctx: ctx, next: http.DefaultTransport}})
	der, err := fulcio.GetCertificate(ctx, keypair, &sgsign.CertificateProviderOptions{IDToken: token})
	if err != nil {
		return nil, fmt.Errorf("certificate from %s: %w", fulcioURL, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate from %s: %w", fulcioURL, err)
	}
	id, err := verify.IdentityOf(cert)
	if err != nil {
		return nil, fmt.Errorf("certificate from %s: %w", fulcioURL, err)
	}
	s, err := newSigner(config, keypair, der, trust.AuthorityConfig{Name: "self", Issuer: id.Issuer, Subject: id.Subject})
	if err != nil {
		return nil, err
	}
	s.identity = id
	return s, nil
}

// checkToken looks at a token's own claims, which nobody has verified yet, to
// say early and clearly what Fulcio would only refuse.
func checkToken(token string, now time.Time) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("the identity token is not a JSON web token")
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return errors.New("the identity token is not a JSON web token")
	}
	var claims struct {
		Expiry float64 `json:"exp"`
	}
	if err := json.Unmarshal(raw, &claims); err != nil {
		return errors.New("the identity token is not a JSON web token")
	}
	if at := time.Unix(int64(claims.Expiry), 0); claims.Expiry > 0 && !now.Before(at) {
		return fmt.Errorf("%w, at %s", ErrTokenExpired, at.UTC().Format(time.RFC3339))
	}
	return nil
}
