package verify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net/url"
	"time"

	"github.com/sigstore/fulcio/pkg/certificate"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// certifiedVerdicts are about private certificate authorities.
func certifiedVerdicts(w *world) []verdict {
	const anna, robot = "anna@acme.example", "https://builds.acme.example/exceptions"
	acme, other := newOrganisation(w.now, nil), newOrganisation(w.now, nil)
	narrow := newOrganisation(w.now, func(x *x509.Certificate) { x.PermittedEmailAddresses = []string{"ops.acme.example"} })
	short := newOrganisation(w.now, func(x *x509.Certificate) { x.NotAfter = w.now.Add(-time.Hour) })
	certifies := func(o organisation, name string) func(*trust.Config) {
		return func(c *trust.Config) {
			c.Authorities = []trust.AuthorityConfig{{Name: "acme", CertificateAuthority: o.pem(), Subject: name}}
		}
	}
	pattern := func(expression string) func(*trust.Config) {
		return func(c *trust.Config) {
			certifies(acme, "")(c)
			c.Authorities[0].SubjectRegexp = expression
		}
	}
	both := func(c *trust.Config) {
		c.Threshold = 2
		c.Authorities = []trust.AuthorityConfig{
			{Name: "keyless", Issuer: w.IssuerURL, Subject: anna},
			{Name: "acme", CertificateAuthority: acme.pem(), Subject: anna},
		}
	}
	bad := func(name, differs string, bend func(*x509.Certificate)) verdict {
		return verdict{name: "certified: " + name, differs: differs, want: verify.ReasonBadCertificate, doc: forged(acme.issued(anna, bend)), policy: certifies(acme, anna)}
	}
	asFulcio := func(x *x509.Certificate) {
		x.ExtraExtensions = must(certificate.Extensions{Issuer: w.IssuerURL}.Render())
	}
	withoutLog := func(root object) { delete(root, "tlogs") }
	withoutEntry := func(b *protobundle.Bundle) { b.VerificationMaterial.TlogEntries = nil }
	weak := must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	known := acme.issuing.certify(acme.leaf(anna, nil), key)
	revoked := func(der []byte) func(*trust.Config) {
		return func(c *trust.Config) {
			certifies(acme, anna)(c)
			sum := sha256.Sum256(der)
			c.Revoked = []trust.RevocationConfig{{Certificate: "sha256:" + hex.EncodeToString(sum[:])}}
		}
	}
	asKnown := set{key: key, certificate: func(*ecdsa.PrivateKey) []byte { return known }}
	return []verdict{
		{name: "certified: a mailbox", doc: forged(acme.by(anna)), policy: certifies(acme, anna)},
		{name: "certified: an address", doc: forged(acme.by(robot)), policy: certifies(acme, robot)},
		{name: "certified: a mailbox of a domain", doc: forged(acme.by(anna)), policy: pattern(`.*@acme.example`)},
		{name: "certified: under a root that issues nothing itself", doc: forged(acme.by(anna)), policy: certifies(acme, anna), root: func(root object) {
			delete(root, "certificateAuthorities")
			delete(root, "ctlogs")
		}},
		{name: "certified: a timestamp and no log", policy: certifies(acme, anna), root: withoutLog,
			doc: forged(acme.by(anna).bent(func(s *set) { s.onlyV03, s.stamps, s.v03 = true, []time.Time{w.now}, withoutEntry }))},
		{name: "certified: Rekor v2 and a timestamp", policy: certifies(acme, anna), doc: forged(acme.by(anna).bent(func(s *set) { s.v2, s.stamps = true, []time.Time{w.now} }))},
		{name: "certified: Rekor v2 without a timestamp", want: verify.ReasonNoWitnessedTime, policy: certifies(acme, anna), doc: forged(acme.by(anna).bent(func(s *set) { s.v2 = true }))},
		{name: "certified: no witness at all", want: verify.ReasonNoWitnessedTime, policy: certifies(acme, anna), root: withoutLog,
			doc: forged(acme.by(anna).bent(func(s *set) { s.onlyV03, s.v03 = true, withoutEntry }))},
		{name: "certified: no log entry", want: verify.ReasonNoLogEntry, doc: withoutEvidence(acme.by(anna)), policy: certifies(acme, anna)},
		{name: "certified: no proof", want: verify.ReasonUnprovenLogEntry, policy: certifies(acme, anna),
			doc: forged(acme.by(anna).bent(func(s *set) {
				s.onlyV03, s.v03 = true, func(b *protobundle.Bundle) { entry(b).InclusionProof.RootHash[0] ^= 1 }
			}))},
		{name: "certified: somebody else", want: verify.ReasonWrongIdentity, doc: forged(acme.by("ben@acme.example")), policy: certifies(acme, anna)},
		{name: "certified: outside of the domain", differs: dotsAreDots, want: verify.ReasonWrongIdentity, doc: forged(acme.by("anna@acmeXexample")), policy: pattern(`.*@acme.example`)},
		{name: "certified: the mailbox spelled as an address", differs: typedName, want: verify.ReasonWrongIdentity, policy: certifies(acme, anna), doc: forged(acme.issued(anna, func(x *x509.Certificate) {
			x.EmailAddresses, x.URIs = nil, []*url.URL{{Opaque: anna}}
		}))},

		{name: "certified: by another authority of the same name", want: verify.ReasonUntrustedCertificate, doc: forged(other.by(anna)), policy: certifies(acme, anna)},
		{name: "certified: by another authority below the same root", want: verify.ReasonUntrustedCertificate, policy: certifies(acme, anna),
			doc: forged(issuedBy(acme.below("Acme mail", nil), acme.leaf(anna, nil)))},
		{name: "certified: by the root itself", differs: exactChain, want: verify.ReasonUntrustedCertificate, policy: certifies(acme, anna), doc: forged(issuedBy(acme.root, acme.leaf(anna, nil)))},
		{name: "certified: by an authority below the one that is named", want: verify.ReasonUntrustedCertificate, policy: certifies(acme, anna),
			doc: forged(issuedBy(acme.issuing.issue(acme.authority("Acme interns")), acme.leaf(anna, nil)))},
		{name: "certified: where nobody is", want: verify.ReasonBadCertificate, doc: forged(acme.by(anna))},
		{name: "certified: beyond what the authority may name", want: verify.ReasonUntrustedCertificate, doc: forged(narrow.by(anna)), policy: certifies(narrow, anna)},
		{name: "certified: an authority that had expired", want: verify.ReasonUntrustedCertificate, doc: forged(short.by(anna)), policy: certifies(short, anna)},
		{name: "certified: expired at signing", want: verify.ReasonCertificateNotValid, policy: certifies(acme, anna),
			doc: forged(acme.issued(anna, func(x *x509.Certificate) { x.NotBefore, x.NotAfter = w.now.Add(-2*day), w.now.Add(-day) }))},

		bad("no name", "", func(x *x509.Certificate) { x.EmailAddresses = nil }),
		bad("two names", oneName, func(x *x509.Certificate) { x.EmailAddresses = append(x.EmailAddresses, "ben@acme.example") }),
		bad("a host's name", "", func(x *x509.Certificate) { x.EmailAddresses, x.DNSNames = nil, []string{"acme.example"} }),
		bad("an authority's", exactChain, func(x *x509.Certificate) { x.IsCA, x.BasicConstraintsValid = true, true }),
		bad("for another purpose", "", func(x *x509.Certificate) { x.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection} }),
		bad("for any purpose", exactChain, func(x *x509.Certificate) { x.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} }),
		bad("for no stated purpose", exactChain, func(x *x509.Certificate) { x.ExtKeyUsage = nil }),
		bad("not for signatures", exactChain, func(x *x509.Certificate) { x.KeyUsage = x509.KeyUsageKeyEncipherment }),
		{name: "certified: a weak key", want: verify.ReasonBadCertificate, policy: certifies(acme, anna), doc: forged(acme.by(anna).bent(func(s *set) { s.key = weak }))},

		{name: "certified: as Fulcio would have", want: verify.ReasonUntrustedCertificate, doc: forged(acme.issued(subject, asFulcio))},
		{name: "certified: as Fulcio would have, for both", want: verify.ReasonTooFewAuthorities, policy: both, doc: forged(acme.issued(anna, asFulcio))},
		{name: "certified: Fulcio's certificate for both", want: verify.ReasonTooFewAuthorities, policy: both, doc: forged(person(anna))},
		{name: "certified: Fulcio's certificate instead", want: verify.ReasonWrongIdentity, policy: certifies(acme, anna), doc: forged(person(anna))},
		{name: "certified: Fulcio's certificate without its issuer", want: verify.ReasonBadCertificate, policy: certifies(acme, anna),
			doc: forged(set{fulcio: func(f *sandbox.Forgery) { f.Template.ExtraExtensions = nil }})},
		{name: "certified: the policy's own key", want: verify.ReasonTooFewAuthorities, doc: forged(asKnown), policy: func(c *trust.Config) {
			certifies(acme, anna)(c)
			c.Threshold = 2
			c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "ci", Key: string(must(cryptoutils.MarshalPublicKeyToPEM(key.Public())))})
		}},
		{name: "certified: and a keyless one", policy: both, doc: forged(acme.by(anna), person(anna))},
		{name: "certified: one name by two authorities", differs: oneSigner, want: verify.ReasonTooFewAuthorities, doc: forged(acme.by(anna), other.by(anna)), policy: func(c *trust.Config) {
			pattern(`.*@acme.example`)(c)
			c.Threshold = 2
			c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "other", CertificateAuthority: other.pem(), SubjectRegexp: `.*@acme.example`})
		}},
		{name: "certified: the name of one authority by another", want: verify.ReasonWrongIdentity, doc: forged(other.by(anna)), policy: func(c *trust.Config) {
			certifies(acme, anna)(c)
			c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "other", CertificateAuthority: other.pem(), Subject: "ben@acme.example"})
		}},
		{name: "certified: two names by two authorities", doc: forged(acme.by(anna), other.by("ben@acme.example")), policy: func(c *trust.Config) {
			certifies(acme, anna)(c)
			c.Threshold = 2
			c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "other", CertificateAuthority: other.pem(), Subject: "ben@acme.example"})
		}},

		{name: "withdrawn with its certificate", want: verify.ReasonWithdrawn, doc: forged(asKnown), policy: revoked(known)},
		{name: "withdrawn with a keyless certificate", want: verify.ReasonWithdrawn, doc: honest, policy: func(c *trust.Config) {
			authorities := c.Authorities
			revoked(must(seal.Read(w.honest)).Signatures[0].Certificate)(c)
			c.Authorities = authorities
		}},
		{name: "another certificate of the same key withdrawn", doc: forged(asKnown), policy: revoked(acme.issuing.certify(acme.leaf(anna, nil), key))},
	}
}
