package sign

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sigstore/rekor/pkg/client"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"

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

// DefaultConcurrency is how many uploads run at once when nothing else is said.
const DefaultConcurrency = 8

const requestTimeout = 30 * time.Second // retries included

// Config is what every signer needs. Empty addresses mean the public-good
// instance.
type Config struct {
	RekorURL    string
	Concurrency int // uploads at once, 0 means DefaultConcurrency

	// Root is the trusted root under which what was made is verified.
	Root *trust.Root
	// Policy, where it is not nil, is a trust policy that what was made has to
	// pass as well.
	Policy *trust.Policy

	Rules Rules
	// Progress, where it is not nil, is called after each upload.
	Progress func(done, total int)
}

// Signer signs batches with one identity. It is made by [Keyless] or [WithKey].
type Signer struct {
	config      Config
	keypair     sgsign.Keypair
	certificate []byte // DER; nil for a key
	identity    trust.Identity
	log         *sgsign.Rekor
	verifiers   []*verify.Verifier
}

// Identity returns whom the certificate names; it is zero for a key.
func (s *Signer) Identity() trust.Identity { return s.identity }

// newSigner completes a signer: its log, and the verifiers of what it makes.
func newSigner(config Config, keypair sgsign.Keypair, certificate []byte, self trust.AuthorityConfig) (*Signer, error) {
	if config.Root == nil {
		return nil, errors.New("sign: no trusted root to verify with what is made")
	}
	if config.RekorURL == "" {
		config.RekorURL = PublicRekorURL
	}
	if config.Concurrency <= 0 {
		config.Concurrency = DefaultConcurrency
	}
	s := &Signer{config: config, keypair: keypair, certificate: certificate}
	own, err := trust.New(trust.Config{
		Authorities: []trust.AuthorityConfig{self}, Kinds: []string{"*"},
		InsecureAllowUnbounded: config.Rules.InsecureAllowUnbounded,
	}, config.Root)
	if err != nil {
		return nil, fmt.Errorf("verify with what is made: %w", err)
	}
	for _, policy := range []*trust.Policy{own, config.Policy} {
		if policy == nil {
			continue
		}
		v, err := verify.New(policy)
		if err != nil {
			return nil, err
		}
		s.verifiers = append(s.verifiers, v)
	}
	// Without a wait the client would spend all retries within the same instant.
	rekor, err := client.GetRekorClient(config.RekorURL, client.WithUserAgent("polex"),
		client.WithRetryCount(retries), client.WithRetryWaitMin(firstWait), client.WithRetryWaitMax(longWait))
	if err != nil {
		return nil, fmt.Errorf("log %s: %w", config.RekorURL, err)
	}
	// The client and the timeout are set here, for the library would otherwise
	// set them on first use, which is a race between parallel uploads.
	s.log = sgsign.NewRekor(&sgsign.RekorOptions{BaseURL: config.RekorURL, Timeout: requestTimeout, Client: rekor.Entries, Version: 1})
	return s, nil
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
	return fmt.Sprintf("what was signed for %s does not verify, and is not handed out: %s", e.Position, e.Err)
}

// Unwrap returns the cause.
func (e *UnverifiedError) Unwrap() error { return e.Err }

// verify checks a sealed document under the signer's own identity, and under
// the policy that it was given. One that starts later is checked as of then.
func (s *Signer) verify(sealed *exception.Document, now time.Time) error {
	if life, err := lifetime.OfDocument(sealed); err == nil && life.StartsAt.After(now) {
		now = life.StartsAt
	}
	for _, v := range s.verifiers {
		if _, err := v.Verify(sealed, now); err != nil {
			return err
		}
	}
	return nil
}

var _ sgsign.CertificateProvider = certificateOnce(nil)

// certificateOnce hands the one certificate of a batch to the library.
type certificateOnce []byte

// GetCertificate returns the certificate.
func (c certificateOnce) GetCertificate(context.Context, sgsign.Keypair, *sgsign.CertificateProviderOptions) ([]byte, error) {
	return c, nil
}
