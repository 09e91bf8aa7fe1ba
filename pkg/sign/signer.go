package sign

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	sgsign "github.com/sigstore/sigstore-go/pkg/sign"

	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// The public-good Sigstore.
const (
	PublicFulcioURL  = "https://fulcio.sigstore.dev"
	PublicRekorURL   = "https://rekor.sigstore.dev"
	PublicOIDCIssuer = "https://oauth2.sigstore.dev/auth"
	DefaultClientID  = "sigstore"
)

// DefaultConcurrency is the default number of parallel uploads.
const DefaultConcurrency = 8

// Timing sets the timeout of each request and the waits between retries. The zero value waits 30
// seconds for an answer.
type Timing = retry.Timing

// Config is the configuration of a [Signer].
type Config struct {
	// RekorURL is the address of the log. "" means the public-good Rekor v1. Rekor v2 requires an
	// address, because the public-good addresses change twice a year.
	RekorURL string
	// RekorVersion is the version of the log's API, 1 or 2; 0 means 1. Rekor v2 proves no time, so
	// it requires a TimestampURL.
	RekorVersion int
	// TimestampURL is the address, with its path, of a timestamp authority (RFC 3161) that proves
	// the signing time; "" means none.
	TimestampURL string
	// BundleFormat is the format of the evidence; "" means BundleBoth.
	BundleFormat BundleFormat
	Concurrency  int // parallel uploads; 0 means DefaultConcurrency

	// Root is the trusted root for verifying the new signatures.
	Root *trust.Root
	// Policy, if not nil, is the trust policy for verifying the new signatures. Otherwise a policy
	// with Root trusts only this signer.
	Policy *trust.Policy

	Rules Rules
	// Timing sets the timeouts and retries for Fulcio, the log and the timestamp authority.
	Timing Timing
	// Progress, if not nil, is called after each verified signature. Calls can be concurrent.
	Progress func(done, total int)
}

// Signer signs batches with one identity. [Keyless] and [WithKey] make one.
type Signer struct {
	config      Config
	keypair     sgsign.Keypair
	certificate []byte // DER; nil for a key
	parsed      *x509.Certificate
	identity    trust.Identity
	evidence    *evidence
	verifier    *verify.Verifier
}

// Identity returns the identity in the certificate; it is zero for a key.
func (s *Signer) Identity() trust.Identity { return s.identity }

// newSigner adds the log client and the verifier of new signatures.
func newSigner(config Config, keypair sgsign.Keypair, certificate []byte, self trust.AuthorityConfig) (*Signer, error) {
	if config.Root == nil && config.Policy == nil {
		return nil, errors.New("sign: no trusted root to verify the signature with")
	}
	if err := config.complete(); err != nil {
		return nil, err
	}
	s := &Signer{config: config, keypair: keypair, certificate: certificate, evidence: newEvidence(config)}
	policy := config.Policy
	if policy == nil {
		var err error
		if policy, err = trust.New(trust.Config{
			Authorities: []trust.AuthorityConfig{self}, Kinds: []string{"*"},
			InsecureAllowUnbounded: config.Rules.InsecureAllowUnbounded,
			ExpiryConfig:           trust.ExpiryConfig{ExpiryKeys: config.Rules.Terms.Keys},
		}, config.Root); err != nil {
			return nil, fmt.Errorf("verify the new signature: %w", err)
		}
	}
	if certificate != nil {
		var err error
		if s.parsed, err = x509.ParseCertificate(certificate); err != nil {
			return nil, fmt.Errorf("read the signing certificate: %w", err)
		}
	}
	var err error
	if s.verifier, err = verify.New(policy); err != nil {
		return nil, err
	}
	return s, nil
}

// Check returns an error if Rekor v2 has no address, if no service would prove the signing time, or
// if the bundle format cannot hold the evidence.
func (c Config) Check() error {
	v2 := c.RekorVersion == 2
	switch c.BundleFormat {
	case "", BundleBoth, BundleSigstore, BundleCosign:
	default:
		return fmt.Errorf("bundle format %q is not %s, %s or %s", c.BundleFormat, BundleCosign,
			BundleSigstore, BundleBoth)
	}
	switch {
	case c.RekorVersion < 0 || c.RekorVersion > 2:
		return fmt.Errorf("version %d of Rekor is not 1 or 2", c.RekorVersion)
	case v2 && c.RekorURL == "":
		return errors.New("version 2 of Rekor requires the address of the log (--rekor-url, sigstore.rekorURL)")
	case v2 && c.TimestampURL == "":
		return errors.New("version 2 of Rekor requires a timestamp authority (--timestamp-server-url, " +
			"sigstore.timestampURL)")
	case c.BundleFormat == BundleCosign && (v2 || c.TimestampURL != ""):
		return errors.New("cosign's bundle can hold neither an entry of Rekor 2 nor a timestamp")
	}
	return nil
}

// complete sets the defaults, and returns the errors of Check.
func (c *Config) complete() error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	c.RekorVersion = cmp.Or(c.RekorVersion, 1)
	c.BundleFormat = cmp.Or(c.BundleFormat, BundleBoth)
	c.RekorURL = cmp.Or(c.RekorURL, PublicRekorURL)
	if c.Concurrency <= 0 {
		c.Concurrency = DefaultConcurrency
	}
	return nil
}

// UnverifiedError means that the new signature of one document does not verify. Either the trust
// policy does not accept it, or an answer of Sigstore is invalid. The whole batch fails.
type UnverifiedError struct {
	Position exception.Position
	Err      error // a *[verify.Rejected], or another error if it could not be decided
}

// Error returns the position and the cause.
func (e *UnverifiedError) Error() string {
	return fmt.Sprintf("the new signature for %s does not verify, and is not written: %s", e.Position, e.Err)
}

// Unwrap returns the cause.
func (e *UnverifiedError) Unwrap() error { return e.Err }

// verify verifies a signed document with the configured policy, or with one that trusts this
// signer. A document with a later start is verified as of its start.
func (s *Signer) verify(signed *exception.Document, now time.Time) error {
	if life, err := lifetime.Of(signed, lifetime.Terms{}); err == nil && life.StartsAt.After(now) {
		now = life.StartsAt
	}
	_, err := s.verifier.Verify(signed, now)
	return err
}

var _ sgsign.CertificateProvider = certificateOnce(nil)

// certificateOnce gives the library the one certificate of a batch.
type certificateOnce []byte

// GetCertificate returns the certificate.
func (c certificateOnce) GetCertificate(context.Context, sgsign.Keypair,
	*sgsign.CertificateProviderOptions) ([]byte, error) {
	return c, nil
}

// transport returns a transport that retries, with one idle connection for each concurrent request.
func (c *Config) transport() retry.Transport {
	next := http.DefaultTransport
	if shared, ok := next.(*http.Transport); ok { // any other transport is the caller's, and stays unchanged
		own := shared.Clone()
		own.MaxIdleConnsPerHost = c.Concurrency
		next = own
	}
	return retry.Transport{Timing: c.Timing, Next: next}
}
