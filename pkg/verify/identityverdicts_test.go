package verify_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sigstore/fulcio/pkg/certificate"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// named is a valid certificate for another subject.
func named(names ...string) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return w.sealed(t, w.until(week), set{fulcio: func(f *sandbox.Forgery) {
			f.Template.URIs = nil
			for _, name := range names {
				f.Template.URIs = append(f.Template.URIs, must.Get(url.Parse(name))(t))
			}
		}})
	}
}

// claimed is a certificate with other claims.
func claimed(bend func(*certificate.Extensions)) maker { return forged(set{identity: bend}) }

// templated is a certificate with a changed template.
func templated(bend func(*x509.Certificate)) maker {
	return forged(set{fulcio: func(f *sandbox.Forgery) { bend(f.Template) }})
}

func commonName(x *x509.Certificate) { x.URIs, x.Subject = nil, pkix.Name{CommonName: subject} }

// unlogged is a certificate that no CT log would accept.
func unlogged(bend func(*x509.Certificate)) maker {
	return forged(set{fulcio: func(f *sandbox.Forgery) {
		f.WithoutSCT = true
		bend(f.Template)
	}})
}

func identityVerdicts(w *world) []verdict {
	const repository = "https://github.com/acme/exceptions"
	withRegexp := func(expression string) func(*trust.Config) {
		return func(c *trust.Config) { c.Authorities[0].Subject, c.Authorities[0].SubjectRegexp = "", expression }
	}
	withoutClaims := func(c *trust.Config) { c.Authorities[0].Claims = nil }
	people := func(c *trust.Config) { c.Authorities[0].Subject, c.Authorities[0].Claims = "anna@acme.example", nil }
	mailbox := func(x *x509.Certificate) { x.URIs, x.EmailAddresses = nil, []string{"anna@acme.example"} }
	issuerV2 := asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
	issuerV1 := certificate.OIDIssuer //nolint:staticcheck // the old form is the subject
	without := func(ids ...asn1.ObjectIdentifier) maker {
		return templated(func(x *x509.Certificate) {
			x.ExtraExtensions = slices.DeleteFunc(x.ExtraExtensions, func(ext pkix.Extension) bool {
				return slices.ContainsFunc(ids, ext.Id.Equal)
			})
		})
	}
	newForm := func(value []byte) maker {
		return templated(func(x *x509.Certificate) {
			at := slices.IndexFunc(x.ExtraExtensions, func(ext pkix.Extension) bool { return ext.Id.Equal(issuerV2) })
			x.ExtraExtensions[at].Value = value
		})
	}
	utf8 := func(text string) []byte { return orPanic(asn1.MarshalWithParams(text, "utf8")) }
	return []verdict{
		{name: "two names, the expected one last", want: verify.ReasonBadCertificate, doc: named("https://github.com/evil/evil/.github/workflows/merge.yaml@refs/heads/main", subject)},
		{name: "two names, the expected one first", differs: oneName, want: verify.ReasonBadCertificate, doc: named(subject, "https://evil.example")},
		{name: "an address and a mailbox", differs: oneName, want: verify.ReasonBadCertificate, doc: templated(func(x *x509.Certificate) { x.EmailAddresses = []string{"anna@acme.example"} })},
		{name: "no name but the common one", want: verify.ReasonBadCertificate, doc: templated(commonName)},
		{name: "the name as a host's", want: verify.ReasonBadCertificate, doc: templated(func(x *x509.Certificate) { x.URIs, x.DNSNames = nil, []string{"github.com"} })},
		{name: "the name as a network address", want: verify.ReasonBadCertificate, doc: templated(func(x *x509.Certificate) { x.URIs, x.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1)} })},
		{name: "an empty name", want: verify.ReasonBadCertificate, doc: templated(func(x *x509.Certificate) {
			x.URIs = nil
			x.ExtraExtensions = append(x.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: []byte{0x30, 0x02, 0x86, 0x00}})
		})},
		{name: "a name with the constructed bit", want: verify.ReasonBadCertificate, policy: withoutClaims, doc: nameEncoded(0xa6, subject)},
		{name: "a mailbox with the constructed bit", want: verify.ReasonBadCertificate, policy: people, doc: nameEncoded(0xa1, "anna@acme.example")},
		{name: "the address spelled as a mailbox", differs: typedName, want: verify.ReasonWrongIdentity, doc: spelled(1, subject)},
		{name: "the mailbox spelled as an address", differs: typedName, want: verify.ReasonWrongIdentity, policy: people, doc: spelled(6, "anna@acme.example")},
		{name: "a mailbox where a mailbox is named", policy: people, doc: templated(mailbox)},
		{name: "a mailbox where a workflow is named", want: verify.ReasonWrongIdentity, doc: templated(mailbox), policy: withoutClaims},
		{name: "bytes that are no certificate", want: verify.ReasonBadCertificate,
			doc: forged(set{certificate: func(*ecdsa.PrivateKey) []byte { return []byte("not a certificate") }})},

		{name: "the right subject by another issuer", want: verify.ReasonWrongIdentity, doc: claimed(w.otherIssuer)},
		{name: "no issuer", want: verify.ReasonBadCertificate, doc: without(issuerV1, issuerV2)},
		{name: "the issuer in its old form alone", doc: without(issuerV2)},
		{name: "the issuer in its new form alone", differs: newIssuer, doc: without(issuerV1)},
		{name: "two issuers, the new form is another", want: verify.ReasonBadCertificate, doc: newForm(utf8(w.OtherIssuerURL))},
		{name: "two issuers, the new form is empty", want: verify.ReasonBadCertificate, doc: newForm(utf8(""))},
		{name: "the issuer's new form is no text", want: verify.ReasonBadCertificate, doc: newForm([]byte(w.IssuerURL))},
		{name: "an extension twice", want: verify.ReasonBadCertificate, doc: unlogged(func(x *x509.Certificate) {
			x.ExtraExtensions = append(x.ExtraExtensions, x.ExtraExtensions[0])
		})},

		{name: "a suffix", want: verify.ReasonWrongIdentity, doc: named(subject + "-evil"), policy: withoutClaims},
		{name: "a prefix", want: verify.ReasonWrongIdentity, doc: named("https://evil.example/" + subject), policy: withoutClaims},
		{name: "another case", want: verify.ReasonWrongIdentity, doc: named(strings.Replace(subject, "acme", "Acme", 1)), policy: withoutClaims},
		{name: "a suffix against a pattern", want: verify.ReasonWrongIdentity, doc: named(subject + "-evil"), policy: withRegexp(repository + "/.+@refs/heads/main")},
		{name: "a prefix against a pattern", want: verify.ReasonWrongIdentity, doc: named("https://evil.example/" + subject), policy: withRegexp(repository + "/.+@refs/heads/main")},
		{name: "another case against a pattern", want: verify.ReasonWrongIdentity, doc: named(strings.Replace(subject, "acme", "Acme", 1)), policy: withRegexp(repository + "/.+@refs/heads/main")},
		{name: "one branch of a pattern's choice", want: verify.ReasonWrongIdentity, doc: named("https://evil.example/" + repository + "/a@refs/heads/main"),
			policy: withRegexp(repository + "/none|" + repository + "/a@refs/heads/main")},
		{name: "a dot is a dot", want: verify.ReasonWrongIdentity, doc: named(strings.Replace(subject, "merge.yaml", "mergeXyaml", 1)), policy: withoutClaims},
		{name: "a pattern that fits", doc: honest, policy: withRegexp(repository + `/\.github/workflows/merge\.yaml@refs/heads/(main|release)`)},
		{name: "a pattern that fits, its slashes escaped", doc: honest, policy: withRegexp(`https:\/\/github\.com\/acme\/exceptions\/.+@refs\/heads\/main`)},

		{name: "another repository", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: claimed(func(e *certificate.Extensions) { e.SourceRepositoryURI = "https://github.com/acme/other" })},
		{name: "no repository", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: claimed(func(e *certificate.Extensions) { e.SourceRepositoryURI = "" })},
		{name: "a feature branch", want: verify.ReasonWrongIdentity, doc: branch("refs/heads/feature")},
		{name: "a pull request", want: verify.ReasonWrongIdentity, doc: branch("refs/pull/7/merge")},
		{name: "a tag of the branch's name", want: verify.ReasonWrongIdentity, doc: branch("refs/tags/main")},
		{name: "another ref behind the same subject", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: claimed(func(e *certificate.Extensions) { e.SourceRepositoryRef = "refs/heads/feature" })},
		{name: "the reused workflow in a fork", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: claimed(func(e *certificate.Extensions) {
			e.SourceRepositoryURI, e.SourceRepositoryOwnerURI = "https://github.com/evil/exceptions", "https://github.com/evil"
			e.SourceRepositoryIdentifier, e.SourceRepositoryOwnerIdentifier = "6666", "666"
		})},
		{name: "a repository of the same name made anew", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: claimed(func(e *certificate.Extensions) { e.SourceRepositoryIdentifier = "1002" })},
		{name: "an owner of the same name made anew", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: claimed(func(e *certificate.Extensions) { e.SourceRepositoryOwnerIdentifier = "2002" })},
		{name: "started by hand", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: claimed(func(e *certificate.Extensions) { e.BuildTrigger = "workflow_dispatch" })},
		{name: "on somebody's own runner", differs: otherClaims, want: verify.ReasonWrongIdentity, doc: claimed(func(e *certificate.Extensions) { e.RunnerEnvironment = "self-hosted" })},
	}
}

func branch(ref string) maker {
	return func(t *testing.T, w *world) *exception.Document {
		return w.sealed(t, w.until(week), set{
			identity: func(e *certificate.Extensions) { e.SourceRepositoryRef = ref },
			fulcio: func(f *sandbox.Forgery) {
				f.Template.URIs = []*url.URL{must.Get(url.Parse(strings.Replace(subject, "refs/heads/main", ref, 1)))(t)}
			},
		})
	}
}

// spelled is a certificate with one name of the given type.
func spelled(tag int, name string) maker { return nameEncoded(byte(0x80|tag), name) }

// nameEncoded is a certificate with one name that begins with the given byte.
func nameEncoded(identifier byte, name string) maker {
	return func(t *testing.T, w *world) *exception.Document {
		value := must.Get(asn1.Marshal([]asn1.RawValue{{Class: asn1.ClassContextSpecific,
			Tag: int(identifier & 0x1f), IsCompound: identifier&0x20 != 0, Bytes: []byte(name)}}))(t)
		return w.sealed(t, w.until(week), set{fulcio: func(f *sandbox.Forgery) {
			f.Template.URIs = nil
			f.Template.ExtraExtensions = append(f.Template.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value})
		}})
	}
}

// groupVerdicts are about groups. Each must be met.
func groupVerdicts(w *world) []verdict {
	const anna, ben, carl, dora = "anna@acme.example", "ben@acme.example", "carl@acme.example", "dora@acme.example"
	anybody := func(name string) trust.AuthorityConfig {
		return trust.AuthorityConfig{Name: name, Issuer: w.IssuerURL, SubjectRegexp: `.*@acme.example`}
	}
	two := func(c *trust.Config) {
		c.Authorities = []trust.AuthorityConfig{w.human("anna"), w.human("ben"), w.human("carl"), w.human("dora")}
		c.Groups = []trust.GroupConfig{
			{Name: "platform", Threshold: 1, Authorities: []string{"anna", "ben"}},
			{Name: "security", Threshold: 1, Authorities: []string{"carl"}},
		}
	}
	three := func(c *trust.Config) {
		two(c)
		c.Threshold = 3
	}
	// Everybody of acme matches either group, and anna also matches one alone.
	overlapping := func(c *trust.Config) {
		c.Authorities = []trust.AuthorityConfig{anybody("either"), anybody("or"), w.human("anna")}
		c.Groups = []trust.GroupConfig{
			{Name: "first", Threshold: 1, Authorities: []string{"either", "anna"}},
			{Name: "second", Threshold: 1, Authorities: []string{"or"}},
		}
	}
	return []verdict{
		{name: "one of each group", doc: forged(person(anna), person(carl)), policy: two},
		{name: "one of each group in the other order", doc: forged(person(carl), person(ben)), policy: two},
		{name: "two of one group and none of the other", differs: noGroups, want: verify.ReasonTooFewAuthorities, doc: forged(person(anna), person(ben)), policy: two},
		{name: "one of a group and one of none", differs: noGroups, want: verify.ReasonTooFewAuthorities, doc: forged(person(anna), person(dora)), policy: two},
		{name: "one of a group, twice", differs: noGroups, want: verify.ReasonTooFewAuthorities, doc: forged(person(anna), person(anna)), policy: two},
		{name: "a stranger for a group", differs: noGroups, want: verify.ReasonTooFewAuthorities, doc: forged(person(anna), person("carl@evil.example")), policy: two},
		{name: "one of each group, and three have to", want: verify.ReasonTooFewAuthorities, doc: forged(person(anna), person(carl)), policy: three},
		{name: "three, with one of each group", doc: forged(person(dora), person(anna), person(carl)), policy: three},
		{name: "three, with none of a group", differs: noGroups, want: verify.ReasonTooFewAuthorities, doc: forged(person(dora), person(anna), person(ben)), policy: three},
		{name: "groups that overlap", doc: forged(person(anna), person(ben)), policy: overlapping},
		{name: "groups that overlap, in the other order", doc: forged(person(ben), person(anna)), policy: overlapping},
		{name: "one person for two groups that overlap", differs: oneSigner, want: verify.ReasonTooFewAuthorities, doc: forged(person(anna), person(anna)), policy: overlapping},
	}
}

// TestMaxSigners: the maximum of signers equals the maximum of signatures.
func TestMaxSigners(t *testing.T) {
	expect.Is(t, "signers", seal.MaxSignatures, trust.MaxSigners)
}
