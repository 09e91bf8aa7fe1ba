package trust_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/publicgood"
)

// link is one certificate of a chain with its key.
type link struct {
	cert *x509.Certificate
	key  crypto.Signer
}

var year = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// issue makes a certificate authority below a link, or a root below nil.
func issue(t testing.TB, parent *link, bend func(*x509.Certificate), key crypto.Signer) *link {
	t.Helper()
	if key == nil {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Acme " + serial.String()}, NotBefore: year, NotAfter: year.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if bend != nil {
		bend(template)
	}
	if parent == nil {
		parent = &link{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.cert, key.Public(), parent.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &link{cert, key}
}

func chain(links ...*link) string {
	var text strings.Builder
	for _, l := range links {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.cert.Raw}))
	}
	return text.String()
}

// TestParseCertificateAuthority: an incomplete chain, or one that can never issue, is an error.
func TestParseCertificateAuthority(t *testing.T) {
	top := issue(t, nil, nil, nil)
	below := issue(t, top, nil, nil)
	bent := func(bend func(*x509.Certificate)) string { return chain(issue(t, top, bend, nil), top) }
	with := func(key crypto.Signer, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return chain(issue(t, top, nil, key), top)
	}
	long := []*link{top}
	for range 8 {
		long = append([]*link{issue(t, long[0], nil, nil)}, long...)
	}
	private, err := x509.MarshalECPrivateKey(below.key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, text, want string }{
		{"a root and one below it", chain(below, top), ""},
		{"a root alone", chain(top), ""},
		{"with words around", "Acme's own:\n" + chain(below) + "and its root\n" + chain(top), ""},
		{"three", chain(issue(t, below, nil, nil), below, top), ""},
		{"as many as there may be", chain(long[1:]...), ""},
		{"for signing code", bent(func(x *x509.Certificate) { x.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} }), ""},
		{"RSA", with(rsa.GenerateKey(rand.Reader, 2048)), ""},
		{"nothing", "", "complete PEM"},
		{"no PEM", "acme", "complete PEM"},
		{"half of one", chain(below)[:200], "complete PEM"},
		{"one and half of another", chain(below) + chain(top)[:200], "complete PEM"},
		{"too many", chain(long...), "the maximum is 8"},
		{"a private key beside it", chain(below, top) + string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})), "does not belong"},
		{"bytes that are none", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})), "certificate 1"},
		{"no root", chain(below), "is not issued by"},
		{"the root first", chain(top, below), "is not issued by"},
		{"another root", chain(below, issue(t, nil, nil, nil)), "is not issued by"},
		{"the root twice", chain(below, top, top), "each certificate once"},
		{"something between", chain(below, issue(t, top, nil, nil), top), "is not issued by"},
		{"no certificate authority", bent(func(x *x509.Certificate) { x.IsCA = false }), "basicConstraints"},
		{"nothing said of that", bent(func(x *x509.Certificate) { x.IsCA, x.BasicConstraintsValid = false, false }), "basicConstraints"},
		{"may not sign certificates", bent(func(x *x509.Certificate) { x.KeyUsage = x509.KeyUsageDigitalSignature }), "keyCertSign"},
		{"may sign anything but that", bent(func(x *x509.Certificate) { x.KeyUsage = 0 }), "keyCertSign"},
		{"for another purpose", bent(func(x *x509.Certificate) { x.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), "signing code"},
		{"over before its root began", bent(func(x *x509.Certificate) { x.NotBefore, x.NotAfter = year.AddDate(-2, 0, 0), year.AddDate(-1, 0, 0) }), "signing code"},
		{"a weak curve", with(ecdsa.GenerateKey(elliptic.P224(), rand.Reader)), "curve"},
		{"RSA too short", with(rsa.GenerateKey(rand.Reader, 1024)), "RSA of 1024"},
		{"none may be below its root", func() string {
			top := issue(t, nil, func(x *x509.Certificate) { x.MaxPathLenZero = true }, nil)
			return chain(issue(t, top, nil, nil), top)
		}(), "allows 0"},
		{"one may be below its root", func() string {
			top := issue(t, nil, func(x *x509.Certificate) { x.MaxPathLen = 1 }, nil)
			return chain(issue(t, top, nil, nil), top)
		}(), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ca, err := trust.ParseCertificateAuthority(tc.text)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%v, want %q in it", err, tc.want)
			case err != nil && ca != nil:
				t.Error("an error and a certificate authority")
			}
		})
	}
}

// TestVerifyCertificate: a certificate is valid only with the configured chain, and only while the
// whole chain is valid.
func TestVerifyCertificate(t *testing.T) {
	top := issue(t, nil, nil, nil)
	below := issue(t, top, func(x *x509.Certificate) { x.NotAfter = year.AddDate(2, 0, 0) }, nil)
	ca, err := trust.ParseCertificateAuthority(chain(below, top))
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(parent *link) *x509.Certificate {
		return issue(t, parent, func(x *x509.Certificate) {
			x.IsCA, x.KeyUsage, x.ExtKeyUsage = false, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
			x.NotBefore, x.NotAfter = year.AddDate(1, 0, 0), year.AddDate(3, 0, 0)
		}, nil).cert
	}
	good := leaf(below)
	for _, tc := range []struct {
		name   string
		cert   *x509.Certificate
		at     time.Time
		issued bool
		ok     bool
	}{
		{"its own", good, year.AddDate(1, 1, 0), true, true},
		{"before it is valid", good, year.AddDate(0, 11, 0), true, false},
		{"after its issuer", good, year.AddDate(2, 1, 0), true, false},
		{"after its end", good, year.AddDate(3, 1, 0), true, false},
		{"the root's", leaf(top), year.AddDate(1, 1, 0), false, false},
		{"another's below the root", leaf(issue(t, top, nil, nil)), year.AddDate(1, 1, 0), false, false},
		{"another's below", leaf(issue(t, below, nil, nil)), year.AddDate(1, 1, 0), false, false},
		{"a stranger's", leaf(issue(t, nil, nil, nil)), year.AddDate(1, 1, 0), false, false},
		{"the issuer itself", below.cert, year.AddDate(1, 1, 0), false, false},
		{"the root itself", top.cert, year.AddDate(1, 1, 0), false, false},
	} {
		if got := ca.Issued(tc.cert); got != tc.issued {
			t.Errorf("%s: issued %t", tc.name, got)
		}
		chains, err := ca.Verify(tc.cert, tc.at)
		if (err == nil) != tc.ok || (err == nil) != (len(chains) == 1) {
			t.Errorf("%s: %d chains, %v", tc.name, len(chains), err)
		}
	}
	if err := ca.CheckLeaf(good); err != nil {
		t.Error(err)
	}
}

// TestCertified: valid and invalid certificate authorities in a policy.
func TestCertified(t *testing.T) {
	top := issue(t, nil, nil, nil)
	below := issue(t, top, nil, nil)
	elsewhere := issue(t, nil, nil, nil)
	acme := chain(below, top)
	certified := func(name, subject string) trust.AuthorityConfig {
		return trust.AuthorityConfig{Name: name, CertificateAuthority: acme, Subject: subject}
	}
	with := func(bend func(*trust.AuthorityConfig)) []trust.AuthorityConfig {
		a := certified("acme", "anna@acme.example")
		bend(&a)
		return []trust.AuthorityConfig{a}
	}
	key := keyPEM(t, elliptic.P256())
	for _, tc := range []struct {
		name        string
		authorities []trust.AuthorityConfig
		without     []string
		want        string
	}{
		{name: "a mailbox", authorities: with(func(*trust.AuthorityConfig) {})},
		{name: "an address", authorities: with(func(a *trust.AuthorityConfig) { a.Subject = "https://builds.acme.example/a" })},
		{name: "a pattern", authorities: with(func(a *trust.AuthorityConfig) { a.Subject, a.SubjectRegexp = "", ".*@acme.example" })},
		{name: "a pattern for anybody", authorities: with(func(a *trust.AuthorityConfig) { a.Subject, a.SubjectRegexp = "", ".*" }), want: "any host"},
		{name: "no subject", authorities: with(func(a *trust.AuthorityConfig) { a.Subject = "" }), want: "has no subject"},
		{name: "a host", authorities: with(func(a *trust.AuthorityConfig) { a.Subject = "builds.acme.example" }), want: "neither an address"},
		{name: "an issuer", authorities: with(func(a *trust.AuthorityConfig) { a.Issuer = issuer }), want: "issuer and claims belong to Fulcio"},
		{name: "claims", authorities: with(func(a *trust.AuthorityConfig) { a.Claims = map[string]trust.Values{"buildTrigger": {"push"}} }), want: "issuer and claims belong to Fulcio"},
		{name: "a key", authorities: with(func(a *trust.AuthorityConfig) { a.Key = key }), want: "not both"},
		{name: "without a log", authorities: with(func(a *trust.AuthorityConfig) { a.InsecureWithoutLog = true }), want: "for keys"},
		{name: "a file that nobody read", authorities: with(func(a *trust.AuthorityConfig) { a.CertificateAuthority, a.CertificateAuthorityFile = "", "ca.pem" }), want: "was not read"},
		{name: "a file besides the chain", authorities: with(func(a *trust.AuthorityConfig) { a.CertificateAuthorityFile = "ca.pem" }), want: "both set"},
		{name: "not a chain", authorities: with(func(a *trust.AuthorityConfig) { a.CertificateAuthority = "acme" }), want: "certificateAuthority: "},
		{name: "a root that issues nothing", authorities: with(func(*trust.AuthorityConfig) {}), without: []string{"certificateAuthorities", "ctlogs"}},
		{name: "a root without a log", authorities: with(func(*trust.AuthorityConfig) {}), without: []string{"tlogs"}},
		{name: "a root without any witness", authorities: with(func(*trust.AuthorityConfig) {}), without: []string{"tlogs", "timestampAuthorities"}, want: "signing time"},
		{name: "two of one chain", authorities: []trust.AuthorityConfig{certified("a", "anna@acme.example"), certified("b", "ben@acme.example")}},
		{name: "two chains of one key", authorities: append(with(func(*trust.AuthorityConfig) {}),
			trust.AuthorityConfig{Name: "b", CertificateAuthority: chain(issue(t, elsewhere, nil, below.key), elsewhere), Subject: "ben@acme.example"}), want: `that of "acme" with another chain`},
		{name: "Fulcio's", authorities: with(func(a *trust.AuthorityConfig) { a.CertificateAuthority = fulcioChain(t) }), want: "it is in the trusted root"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := trust.New(trust.Config{Authorities: tc.authorities}, root(t, tc.without...))
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Fatalf("%v, want %q in it", err, tc.want)
			case tc.want != "":
				return
			}
			first := p.Authorities()[0].CertificateAuthority()
			for _, a := range p.Authorities() {
				if a.CertificateAuthority() != first || a.Key() != nil {
					t.Error("two of one chain do not share it")
				}
			}
		})
	}
}

// fulcioChain returns a chain of the public-good root.
func fulcioChain(t *testing.T) string {
	t.Helper()
	var tree struct {
		CertificateAuthorities []struct {
			CertChain struct {
				Certificates []struct{ RawBytes []byte }
			}
		}
	}
	if err := json.Unmarshal(publicgood.TrustedRootJSON(), &tree); err != nil {
		t.Fatal(err)
	}
	var certs []*x509.Certificate
	for _, c := range tree.CertificateAuthorities[1].CertChain.Certificates {
		cert, err := x509.ParseCertificate(c.RawBytes)
		if err != nil {
			t.Fatal(err)
		}
		certs = append(certs, cert)
	}
	text, err := cryptoutils.MarshalCertificatesToPEM(certs)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMatchesOfSorts: an identity of one type never matches an authority of another type.
func TestMatchesOfSorts(t *testing.T) {
	top, other := issue(t, nil, nil, nil), issue(t, nil, nil, nil)
	const anna = "anna@acme.example"
	p, err := trust.New(trust.Config{Authorities: []trust.AuthorityConfig{
		{Name: "keyless", Issuer: issuer, Subject: anna},
		{Name: "acme", CertificateAuthority: chain(top), Subject: anna},
		{Name: "other", CertificateAuthority: chain(other), Subject: anna},
		{Name: "key", Key: keyPEM(t, elliptic.P256())},
	}}, root(t))
	if err != nil {
		t.Fatal(err)
	}
	identity := func(name string) trust.Identity {
		for _, a := range p.Authorities()[1:] {
			if a.Name() == name {
				return trust.Identity{CertificateAuthority: a.CertificateAuthority(), Subject: anna, Type: "email"}
			}
		}
		return trust.Identity{Issuer: issuer, Subject: anna, Type: "email"}
	}
	signers := map[string]int{}
	for _, of := range []string{"keyless", "acme", "other"} {
		id := identity(of)
		signers[id.Signer()]++
		for _, a := range p.Authorities() {
			if is, got := a.Matches(id); is != (a.Name() == of) {
				t.Errorf("an identity of %q, for %q: %q", of, a.Name(), got)
			}
		}
		// An OIDC issuer in such a certificate does not count.
		id.Issuer = issuer
		if is, _ := p.Authorities()[0].Matches(id); is && of != "keyless" {
			t.Errorf("an identity of %q is keyless", of)
		}
	}
	// The same name by two private certificate authorities is one signer.
	if len(signers) != 2 {
		t.Errorf("signers %v", signers)
	}
}
