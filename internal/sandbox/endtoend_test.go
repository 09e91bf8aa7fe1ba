package sandbox_test

import (
	"crypto/x509"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sigstore/cosign/v2/pkg/providers"
	_ "github.com/sigstore/cosign/v2/pkg/providers/github"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// seal signs the text with the token, and with all evidence that the sandbox offers.
func seal(t *testing.T, s *sandbox.Sandbox, token, text string) *protobundle.Bundle {
	t.Helper()
	return sealContent(t, s, token, &sign.PlainData{Data: []byte(text)}, &sign.RekorOptions{BaseURL: s.RekorURL})
}

// sealContent signs content with the token, and logs it in one log.
func sealContent(t *testing.T, s *sandbox.Sandbox, token string, content sign.Content,
	log *sign.RekorOptions) *protobundle.Bundle {
	t.Helper()
	keypair := must.Get(sign.NewEphemeralKeypair(nil))(t)
	stamps := sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{URL: s.TimestampURL})
	return must.Get(sign.Bundle(content, keypair, sign.BundleOptions{
		Context:                    t.Context(),
		CertificateProvider:        sign.NewFulcio(&sign.FulcioOptions{BaseURL: s.FulcioURL}),
		CertificateProviderOptions: &sign.CertificateProviderOptions{IDToken: token},
		TransparencyLogs:           []sign.Transparency{sign.NewRekor(log)},
		TimestampAuthorities:       []*sign.TimestampAuthority{stamps},
	}))(t)
}

// open verifies a bundle as strictly as sigstore-go can, with the trusted root of a sandbox.
func open(s *sandbox.Sandbox, b *protobundle.Bundle, text, issuer, subject string) error {
	return openWith(s, b, text, issuer, subject, verify.WithIntegratedTimestamps(1))
}

// openWith is open for version 2 of Rekor, which states no time.
func openWith(s *sandbox.Sandbox, b *protobundle.Bundle, text, issuer, subject string, more ...verify.VerifierOption) error {
	more = append(more, verify.WithTransparencyLog(1), verify.WithSignedTimestamps(1), verify.WithSignedCertificateTimestamps(1))
	trusted, err := root.NewTrustedRootFromPath(s.TrustedRootPath)
	if err != nil {
		return err
	}
	verifier, err := verify.NewVerifier(trusted, more...)
	if err != nil {
		return err
	}
	identity, err := verify.NewShortCertificateIdentity(issuer, "", subject, "")
	if err != nil {
		return err
	}
	entity, err := bundle.NewBundle(b)
	if err != nil {
		return err
	}
	_, err = verifier.Verify(entity, verify.NewPolicy(
		verify.WithArtifact(strings.NewReader(text)), verify.WithCertificateIdentity(identity)))
	return err
}

func TestSignAndVerify(t *testing.T) {
	s := start(t, sandbox.Options{})
	for _, pair := range s.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	token := must.Get(providers.Provide(t.Context(), "sigstore"))(t)
	const subject = "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main"
	b := seal(t, s, token, "hello")
	expect.NoError(t, open(s, b, "hello", s.IssuerURL, subject))
	for name, err := range map[string]error{
		"other text":    open(s, b, "hullo", s.IssuerURL, subject),
		"other subject": open(s, b, "hello", s.IssuerURL, strings.Replace(subject, "main", "dev", 1)),
		"other issuer":  open(s, b, "hello", s.OtherIssuerURL, subject),
		"other sandbox": open(start(t, sandbox.Options{}), b, "hello", s.IssuerURL, subject),
	} {
		expect.That(t, err != nil, "%s: verified", name)
	}

	leaf := must.Get(x509.ParseCertificate(b.GetVerificationMaterial().GetCertificate().GetRawBytes()))(t)
	got := must.Get(certificate.SummarizeCertificate(leaf))(t)
	const sha = "5a0db0c0ffee5a0db0c0ffee5a0db0c0ffee5a0d"
	want := certificate.Summary{
		CertificateIssuer:      "CN=fulcio intermediate,O=polex sandbox",
		SubjectAlternativeName: subject,
		Extensions: certificate.Extensions{
			Issuer:                              s.IssuerURL,
			GithubWorkflowTrigger:               "push",
			GithubWorkflowSHA:                   sha,
			GithubWorkflowName:                  "Merge",
			GithubWorkflowRepository:            "acme/exceptions",
			GithubWorkflowRef:                   "refs/heads/main",
			BuildSignerURI:                      subject,
			BuildSignerDigest:                   sha,
			RunnerEnvironment:                   "github-hosted",
			SourceRepositoryURI:                 "https://github.com/acme/exceptions",
			SourceRepositoryDigest:              sha,
			SourceRepositoryRef:                 "refs/heads/main",
			SourceRepositoryIdentifier:          "1001",
			SourceRepositoryOwnerURI:            "https://github.com/acme",
			SourceRepositoryOwnerIdentifier:     "2001",
			BuildConfigURI:                      subject,
			BuildConfigDigest:                   sha,
			BuildTrigger:                        "push",
			RunInvocationURI:                    "https://github.com/acme/exceptions/actions/runs/4001/attempts/1",
			SourceRepositoryVisibilityAtSigning: "private",
		},
	}
	expect.Equal(t, "certificate", want, got, cmpopts.EquateEmpty())
}

// A reusable workflow signs with its own name. Fulcio also accepts an issuer that is not trusted.
func TestOtherIdentities(t *testing.T) {
	s := start(t, sandbox.Options{})
	for _, tc := range []struct {
		name            string
		id              sandbox.Identity
		issuer, subject string
	}{
		{"branch", sandbox.Identity{Ref: "refs/heads/dev"}, s.IssuerURL,
			"https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/dev"},
		{"repository", sandbox.Identity{Repository: "mallory/fork"}, s.IssuerURL,
			"https://github.com/mallory/fork/.github/workflows/merge.yaml@refs/heads/main"},
		{"reusable workflow", sandbox.Identity{JobWorkflowRef: "acme/shared/.github/workflows/seal.yaml@refs/tags/v1"}, s.IssuerURL,
			"https://github.com/acme/shared/.github/workflows/seal.yaml@refs/tags/v1"},
		{"issuer", sandbox.Identity{Issuer: s.OtherIssuerURL}, s.OtherIssuerURL,
			"https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := seal(t, s, mint(t, s, tc.id), tc.name)
			expect.NoError(t, open(s, b, tc.name, tc.issuer, tc.subject))
			expect.That(t, open(s, b, tc.name, s.IssuerURL, (sandbox.Identity{}).Subject()) != nil,
				"verified as the trusted identity")
		})
	}
}

// Attestations have another kind of log entry, which sigstore-go also accepts.
func TestSignAttestation(t *testing.T) {
	s := start(t, sandbox.Options{})
	statement := `{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://example.com/x","predicate":{},` +
		`"subject":[{"name":"hello","digest":{"sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}}]}`
	b := sealContent(t, s, mint(t, s, sandbox.Identity{}),
		&sign.DSSEData{Data: []byte(statement),
			PayloadType: "application/vnd.in-toto+json"}, &sign.RekorOptions{BaseURL: s.RekorURL})
	expect.Is(t, "logged as", "dsse", b.GetVerificationMaterial().GetTlogEntries()[0].GetKindVersion().GetKind())
	expect.NoError(t, open(s, b, "hello", s.IssuerURL, (sandbox.Identity{}).Subject()))
}
