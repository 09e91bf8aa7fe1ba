package sign

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	sgsign "github.com/sigstore/sigstore-go/pkg/sign"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/internal/retry"
	"github.com/polex-dev/polex/pkg/exception"
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

// DefaultConcurrency is how many uploads run at once when nothing else is said.
const DefaultConcurrency = 8

// Timing bounds each request to a server, and waits between two tries. Its zero value
// waits 30 seconds for an answer.
type Timing = retry.Timing

// Config is what every signer needs.
type Config struct {
	// RekorURL is the address of the log. An empty one means the public-good
	// instance of version 1; those of version 2 change twice a year, so there
	// the address has to be given.
	RekorURL string
	// RekorVersion is the version of the log's API, 1 or 2; 0 means 1. A log of
	// version 2 says no time, so it takes a TimestampURL beside it.
	RekorVersion int
	// TimestampURL is the address, with its path, of a timestamp authority (RFC
	// 3161) that witnesses when something was signed; "" asks none.
	TimestampURL string
	// BundleFormat says in which form the evidence is written; "" means
	// BundleBoth.
	BundleFormat BundleFormat
	Concurrency  int // uploads at once, 0 means DefaultConcurrency

	// Root is the trusted root under which what was made is verified.
	Root *trust.Root
	// Policy, where it is not nil, is the trust policy that what was made has to
	// pass instead of one under Root that trusts the signer alone.
	Policy *trust.Policy

	Rules Rules
	// Timing bounds each request to Fulcio, the log and the timestamp authority.
	Timing Timing
	// Progress, where it is not nil, is called after each upload.
	Progress func(done, total int)
}

// Signer signs batches with one identity. It is made by [Keyless] or [WithKey].
type Signer struct {
	config      Config
	keypair     sgsign.Keypair
	certificate []byte // DER; nil for a key
	identity    trust.Identity
	evidence    *evidence
	verifier    *verify.Verifier
}

// Identity returns whom the certificate names; it is zero for a key.
func (s *Signer) Identity() trust.Identity { return s.identity }

// newSigner completes a signer: its log, and the verifier of what it makes.
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
			InsecureAllowUnbounded: config.Rules.InsecureAllowUnbounded, ExpiryConfig: trust.ExpiryConfig{ExpiryKeys: config.Rules.Terms.Keys},
		}, config.Root); err != nil {
			return nil, fmt.Errorf("verify the new signature: %w", err)
		}
	}
	s.config.Rules.statesTime = true
	if certificate != nil {
		cert, err := x509.ParseCertificate(certificate)
		if err != nil {
			return nil, fmt.Errorf("read the signing certificate: %w", err)
		}
		s.config.Rules.statesTime = !trust.BindsTime(cert.NotBefore, cert.NotAfter)
	}
	var err error
	if s.verifier, err = verify.New(policy); err != nil {
		return nil, err
	}
	return s, nil
}

// Check refuses a log that has no address, or that would give no evidence of when something
// was signed, and a bundle format that could not hold the evidence.
func (c Config) Check() error {
	v2 := c.RekorVersion == 2
	switch c.BundleFormat {
	case "", BundleBoth, BundleSigstore, BundleCosign:
	default:
		return fmt.Errorf("there is no bundle format %q: %s, %s and %s are known", c.BundleFormat, BundleCosign, BundleSigstore, BundleBoth)
	}
	switch {
	case c.RekorVersion < 0 || c.RekorVersion > 2:
		return fmt.Errorf("there is no version %d of Rekor: 1 and 2 are known", c.RekorVersion)
	case v2 && c.RekorURL == "":
		return errors.New("a log of Rekor's version 2 has no address to fall back on")
	case v2 && c.TimestampURL == "":
		return errors.New("a log of Rekor's version 2 says no time, and there is no timestamp authority to say it")
	case c.BundleFormat == BundleCosign && (v2 || c.TimestampURL != ""):
		return errors.New("cosign's bundle holds neither an entry of Rekor's version 2 nor a timestamp")
	}
	return nil
}

// complete fills in what is left out, and refuses what no log would serve.
func (c *Config) complete() error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	if c.RekorVersion == 0 {
		c.RekorVersion = 1
	}
	if c.BundleFormat == "" {
		c.BundleFormat = BundleBoth
	}
	if c.RekorURL == "" {
		c.RekorURL = PublicRekorURL
	}
	if c.Concurrency <= 0 {
		c.Concurrency = DefaultConcurrency
	}
	return nil
}

// UnverifiedError says that what was signed for one document does not verify:
// because the trust policy does not accept it, or because Sigstore answered with
// something that does not hold. Nothing of the batch is handed out.
type UnverifiedError struct {
	Position exception.Position
	Err      error // a *[verify.Rejected], unless it could not be decided
}

// Error returns the position and the cause.
func (e *UnverifiedError) Error() string {
	return fmt.Sprintf("the new signature for %s does not verify, and is not written: %s", e.Position, e.Err)
}

// Unwrap returns the cause.
func (e *UnverifiedError) Unwrap() error { return e.Err }

// verify checks a sealed document under the policy that the signer was given, or
// else under its own identity. One that starts later is checked as of then.
func (s *Signer) verify(sealed *exception.Document, now time.Time) error {
	if life, err := lifetime.Of(sealed, lifetime.Terms{}); err == nil && life.StartsAt.After(now) {
		now = life.StartsAt
	}
	_, err := s.verifier.Verify(sealed, now)
	return err
}

var _ sgsign.CertificateProvider = certificateOnce(nil)

// certificateOnce hands the one certificate of a batch to the library.
type certificateOnce []byte

// GetCertificate returns the certificate.
func (c certificateOnce) GetCertificate(context.Context, sgsign.Keypair, *sgsign.CertificateProviderOptions) ([]byte, error) {
	return c, nil
}
