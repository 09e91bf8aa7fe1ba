package sign

import (
	"cmp"
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	sgsign "github.com/sigstore/sigstore-go/pkg/sign"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// ErrTokenExpired is the error for an expired identity token.
var ErrTokenExpired = errors.New("the identity token has expired")

// ErrTokenRefused is the error for an identity token that Fulcio does not accept.
var ErrTokenRefused = errors.New("the identity token was refused")

// Keyless makes a signer for the identity in the OIDC token: one ephemeral key, and one certificate
// from Fulcio, which is valid for minutes. An empty fulcioURL means the public-good instance. The
// token is sent to Fulcio only, and not at all if it is expired at now. A certificate for another
// key or another identity is an error.
func Keyless(ctx context.Context, config Config, fulcioURL, token string, now time.Time) (*Signer, error) {
	fulcioURL = cmp.Or(fulcioURL, PublicFulcioURL)
	if err := config.complete(); err != nil {
		return nil, err
	}
	claims, err := readToken(token)
	if err != nil {
		return nil, err
	}
	if err := claims.unexpired(now); err != nil {
		return nil, err
	}
	keypair, err := sgsign.NewEphemeralKeypair(nil)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	fulcio := sgsign.NewFulcio(&sgsign.FulcioOptions{BaseURL: strings.TrimSuffix(fulcioURL, "/"), Timeout: -1,
		Transport: config.transport().Within(ctx)}) // the library sends this request without a context
	der, err := fulcio.GetCertificate(ctx, keypair, &sgsign.CertificateProviderOptions{IDToken: token})
	if err != nil && strings.HasPrefix(err.Error(), "Fulcio returned 4") {
		return nil, fmt.Errorf("certificate from %s: %w; %w: issuer %.200q, audience %.200q",
			fulcioURL, err, ErrTokenRefused, claims.Issuer, claims.audience())
	}
	if err != nil {
		return nil, fmt.Errorf("certificate from %s: %w", fulcioURL, err)
	}
	id, err := identityIn(der, keypair.GetPublicKey(), claims)
	if err != nil {
		return nil, fmt.Errorf("certificate from %s: %w", fulcioURL, err)
	}
	s, err := newSigner(config, keypair, der,
		trust.AuthorityConfig{Name: "self", Issuer: id.Issuer, Subject: id.Subject})
	if err != nil {
		return nil, err
	}
	s.identity = id
	return s, nil
}

// identityIn returns the identity in a certificate. It rejects another key or identity before
// anything is logged with it. Each signature's verification checks the issuer of the certificate.
func identityIn(der []byte, key crypto.PublicKey, claims tokenClaims) (trust.Identity, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return trust.Identity{}, err
	}
	if own, ok := key.(interface{ Equal(crypto.PublicKey) bool }); !ok || !own.Equal(cert.PublicKey) {
		return trust.Identity{}, errors.New("it is for another key than the one that was sent")
	}
	id, err := verify.IdentityOf(cert)
	if err != nil {
		return trust.Identity{}, err
	}
	return id, claims.describe(id)
}
