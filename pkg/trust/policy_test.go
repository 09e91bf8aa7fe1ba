package trust_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/pkg/trust/publicgood"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// root returns the public-good root without some parts.
func root(t testing.TB, without ...string) *trust.Root {
	t.Helper()
	var tree map[string]any
	must.Do(t, json.Unmarshal(publicgood.TrustedRootJSON(), &tree))
	for _, part := range without {
		delete(tree, part)
	}
	raw := must.Get(json.Marshal(tree))(t)
	return must.Get(trust.ParseRoot(raw, "test"))(t)
}

func keyPEM(t testing.TB, curve elliptic.Curve) string {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(curve, rand.Reader))(t)
	return string(must.Get(cryptoutils.MarshalPublicKeyToPEM(key.Public()))(t))
}

const (
	issuer  = "https://token.actions.githubusercontent.com"
	subject = "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main"
)

func policy() trust.Config {
	return trust.Config{Authorities: []trust.AuthorityConfig{{Name: "merge", Issuer: issuer, Subject: subject}}}
}

// TestNewRefuses: a policy that accepts everybody or nobody is an error when it is made.
func TestNewRefuses(t *testing.T) {
	key := keyPEM(t, elliptic.P256())
	first := func(bend func(*trust.AuthorityConfig)) func(*trust.Config) {
		return func(c *trust.Config) { bend(&c.Authorities[0]) }
	}
	toKey := first(func(a *trust.AuthorityConfig) { *a = trust.AuthorityConfig{Name: "ci", Key: key} })
	revoked := func(r trust.RevocationConfig) func(*trust.Config) {
		return func(c *trust.Config) { c.Revoked = []trust.RevocationConfig{r} }
	}
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, tc := range []struct {
		name    string
		bend    func(*trust.Config)
		without []string // parts of the root
		want    string   // in the error; "" for success
	}{
		{name: "control", bend: func(*trust.Config) {}},
		{name: "nobody", bend: func(c *trust.Config) { c.Authorities = nil }, want: "names no authority"},
		{name: "an authority of nothing", bend: first(func(a *trust.AuthorityConfig) { *a = trust.AuthorityConfig{} }), want: "has no issuer"},
		{name: "no subject", bend: first(func(a *trust.AuthorityConfig) { a.Subject = "" }), want: "has no subject"},
		{name: "claims and no subject", bend: first(func(a *trust.AuthorityConfig) {
			a.Subject, a.Claims = "", map[string]trust.Values{"sourceRepositoryIdentifier": {"1"}}
		}), want: "has no subject"},
		{name: "a claim in another case", bend: first(func(a *trust.AuthorityConfig) { a.Claims = map[string]trust.Values{"BuildTrigger": {"push"}} }), want: "is not one of"},
		{name: "an empty claim", bend: first(func(a *trust.AuthorityConfig) { a.Claims = map[string]trust.Values{"buildTrigger": {""}} }), want: "empty"},
		{name: "an issuer without a scheme", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "accounts.example" }), want: "not the address"},
		{name: "an issuer that is a pattern", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = ".*" }), want: "not the address"},
		{name: "an issuer whose host is a pattern", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "https://*.com" }), want: "not the address"},
		{name: "an issuer whose host ends in a pattern", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "https://accounts.*" }), want: "not the address"},
		{name: "an issuer whose host no name has", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "https://{tenant}.example" }), want: "not the address"},
		{name: "an issuer whose path is a pattern", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "https://accounts.example/*" }), want: "compared exactly"},
		{name: "an issuer with a port and a path", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "https://git_lab.acme.example:8443/realms/a" })},
		{name: "an issuer that looks local", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "http://localhost.evil.example" }), want: "https"},
		{name: "an issuer that looks local to who reads the beginning", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "http://127.0.0.1@evil.example" }), want: "https"},
		{name: "an issuer on loopback", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "http://127.0.0.1:1234" })},
		{name: "an issuer on loopback, version 6", bend: first(func(a *trust.AuthorityConfig) { a.Issuer = "http://[::1]:1234" })},

		{name: "a key", bend: toKey},
		{name: "a key and claims", bend: first(func(a *trust.AuthorityConfig) {
			*a = trust.AuthorityConfig{Key: key, Claims: map[string]trust.Values{"buildTrigger": {"push"}}}
		}), want: "not both"},
		{name: "a key too weak", bend: first(func(a *trust.AuthorityConfig) { *a = trust.AuthorityConfig{Key: keyPEM(t, elliptic.P224())} }), want: "key:"},
		{name: "a key file that nobody read", bend: first(func(a *trust.AuthorityConfig) { *a = trust.AuthorityConfig{KeyFile: "cosign.pub"} }), want: "was not read"},

		{name: "no names, one subject", bend: func(c *trust.Config) {
			c.Authorities[0].Name = ""
			c.Authorities = append(c.Authorities, c.Authorities[0])
		}, want: "two authorities"},
		{name: "a group with a wildcard", bend: func(c *trust.Config) { c.Kinds = []string{"PolicyException.*"} }, want: "Kind.group"},
		{name: "a kind with a version", bend: func(c *trust.Config) { c.Kinds = []string{"PolicyException.kyverno.io/v2"} }, want: "Kind.group"},
		{name: "a group alone", bend: func(c *trust.Config) { c.Kinds = []string{".kyverno.io"} }, want: "Kind.group"},
		{name: "no kind", bend: func(c *trust.Config) { c.Kinds = []string{""} }, want: "Kind.group"},

		{name: "revoked: nothing", bend: revoked(trust.RevocationConfig{Because: "x"}), want: "either"},
		{name: "revoked: a digest", bend: revoked(trust.RevocationConfig{MessageDigest: digest})},
		{name: "revoked: a certificate", bend: revoked(trust.RevocationConfig{Certificate: digest})},
		{name: "revoked: a certificate and a message", bend: revoked(trust.RevocationConfig{Certificate: digest, MessageDigest: digest}), want: "either"},
		{name: "revoked: a certificate and an authority", bend: revoked(trust.RevocationConfig{Certificate: digest, Authority: "merge", SignedBefore: "2026-01-01T00:00:00Z"}), want: "either"},

		{name: "a root without a certificate authority", bend: func(*trust.Config) {}, without: []string{"certificateAuthorities"}, want: "no certificate authority"},
		{name: "a root without a log", bend: func(*trust.Config) {}, without: []string{"tlogs"}},
		{name: "a root without any witness", bend: func(*trust.Config) {}, without: []string{"tlogs", "timestampAuthorities"}, want: "signing time"},
		{name: "a key under a root without a log", bend: toKey, without: []string{"tlogs"}, want: "insecureWithoutLog"},
		{name: "a key that needs none under a root without a log", bend: func(c *trust.Config) {
			toKey(c)
			c.Authorities[0].InsecureWithoutLog = true
		}, without: []string{"tlogs"}},
		{name: "a key under a root without a certificate authority", bend: toKey, without: []string{"certificateAuthorities"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := policy()
			tc.bend(&config)
			made, err := trust.New(config, root(t, tc.without...))
			expect.Outcome(t, err, tc.want)
			expect.Is(t, "an error and a policy", false, err != nil && made != nil)
		})
	}
	expect.Failure(trust.New(policy(), nil))(t) // a policy without a root
	_, err := trust.New(trust.Config{}, root(t))
	expect.Cause(t, err, trust.ErrNoAuthority)
}

func TestPolicy(t *testing.T) {
	config := policy()
	config.MaxLifetime = "90d"
	config.Revoked = []trust.RevocationConfig{
		{Authority: "merge", SignedBefore: "2026-02-01T00:00:00Z"},
		{Authority: "merge", SignedBefore: "2026-01-01T00:00:00Z"}, // the later one counts
	}
	p := must.Get(trust.New(config, root(t)))(t)
	most := p.Rules().MaxLifetime(policyfile.Scope{})
	if p.Threshold() != 1 || most.Duration != 90*24*time.Hour || most.Ends || p.Rules().Unbounded || len(p.Authorities()) != 1 {
		t.Errorf("threshold %d, %s, ends %t, unbounded %t, %d authorities", p.Threshold(), most.Duration, most.Ends, p.Rules().Unbounded, len(p.Authorities()))
	}
	if want := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC); !p.RevokedBefore("merge").Equal(want) || !p.RevokedBefore("other").IsZero() {
		t.Errorf("revoked before %s", p.RevokedBefore("merge"))
	}
	sum := sha256.Sum256([]byte("x"))
	fingerprint := "sha256:" + hex.EncodeToString(sum[:])
	expect.That(t, !p.CertificateRevoked("") && !p.MessageRevoked([]byte("x")) && !p.CertificateRevoked(fingerprint),
		"a message or certificate is revoked")
	for what, r := range map[string]trust.RevocationConfig{
		"message":     {MessageDigest: fingerprint},
		"certificate": {Certificate: "sha256:" + strings.ToUpper(fingerprint[7:])},
	} {
		config.Revoked = []trust.RevocationConfig{r}
		p = must.Get(trust.New(config, root(t)))(t)
		if p.MessageRevoked([]byte("x")) != (what == "message") || p.CertificateRevoked(fingerprint) != (what == "certificate") {
			t.Errorf("a %s is revoked: the message %t, the certificate %t", what, p.MessageRevoked([]byte("x")), p.CertificateRevoked(fingerprint))
		}
	}
}

func TestKinds(t *testing.T) {
	gk := func(kind, group string) exception.GroupKind { return exception.GroupKind{Kind: kind, Group: group} }
	ours, theirs, config := gk("PolicyException", "kyverno.io"), gk("PolicyException", "policies.kyverno.io"), gk("ConfigMap", "")
	for _, tc := range []struct {
		kinds []string
		want  [3]bool
	}{
		{nil, [3]bool{true, true, false}},
		{[]string{}, [3]bool{true, true, false}},
		{[]string{"*"}, [3]bool{true, true, true}},
		{[]string{"ConfigMap"}, [3]bool{false, false, true}},
		{[]string{"PolicyException.kyverno.io"}, [3]bool{true, false, false}},
		{[]string{"PolicyException"}, [3]bool{false, false, false}},
		{[]string{"policyexception.kyverno.io"}, [3]bool{false, false, false}},
	} {
		k := must.Get(trust.NewKinds(tc.kinds))(t)
		expect.Is(t, fmt.Sprintf("%q", tc.kinds), tc.want, [3]bool{k.Allow(ours), k.Allow(theirs), k.Allow(config)})
	}
	expect.That(t, !(trust.Kinds{}).Allow(ours), "the zero value allows something")
}

// TestDigest: policies of one content have one digest, wherever it is from, and every difference makes another.
func TestDigest(t *testing.T) {
	digest := func(change func(*trust.Config)) string {
		t.Helper()
		c := trust.Config{Authorities: []trust.AuthorityConfig{{Name: "merge", Issuer: "https://accounts.example", Subject: "a@acme.example"}}}
		change(&c)
		p := must.Get(trust.Load(c))(t)
		return p.Digest()
	}
	same := digest(func(*trust.Config) {})
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(same) || digest(func(*trust.Config) {}) != same {
		t.Errorf("%s is not always the digest", same)
	}
	for name, change := range map[string]func(*trust.Config){
		"subject":     func(c *trust.Config) { c.Authorities[0].Subject = "b@acme.example" },
		"maxLifetime": func(c *trust.Config) { c.MaxLifetime = "90d" },
		"claims":      func(c *trust.Config) { c.Authorities[0].Claims = map[string]trust.Values{"buildTrigger": {"push"}} },
	} {
		expect.That(t, digest(change) != same, "another %s has the same digest", name)
	}
	expect.That(t, digest(func(c *trust.Config) { c.Source, c.Authorities[0].Source = "a.yaml", "a.yaml:3:5" }) == same,
		"the digest depends on the place of the policy")
}

// TestHoldings: every service of the public-good root is listed once and in order.
func TestHoldings(t *testing.T) {
	root := must.Get(trust.PublicGoodRoot())(t)
	want := map[string]int{
		trust.ServiceCertificateAuthority: len(root.Material().FulcioCertificateAuthorities()), trust.ServiceCertificateLog: len(root.Material().CTLogs()),
		trust.ServiceTransparencyLog: len(root.Material().RekorLogs()), trust.ServiceTimestampAuthority: len(root.Material().TimestampingAuthorities()),
	}
	got, ids := map[string]int{}, map[string]bool{}
	var last trust.Service
	for _, h := range root.Services() {
		expect.That(t, h.Kind >= last.Kind && (h.Kind != last.Kind || !h.From.Before(last.From)),
			"%+v comes after %+v", h, last)
		expect.That(t, h.URL != "" && len(h.ID) == 64 && !h.From.IsZero() && !ids[h.Kind+h.ID], "%+v", h)
		got[h.Kind]++
		ids[h.Kind+h.ID] = true
		last = h
	}
	for kind, n := range want {
		expect.That(t, n != 0 && got[kind] == n, "%d of the kind %s, want %d", got[kind], kind, n)
	}
}

// A tool reads a trust policy and checks an identity against its authorities.
func ExampleFromFile() {
	policy, err := trust.FromFile("testdata/trust.yaml")
	if err != nil {
		log.Fatal(err)
	}
	stranger := trust.Identity{
		Issuer: "https://token.actions.githubusercontent.com", Type: "uri",
		Subject: "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/feature",
	}
	for _, a := range policy.Authorities() {
		is, why := a.Matches(stranger)
		fmt.Println(a.Name(), is, why)
	}
	// Output:
	// main false the subject of the certificate is "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/feature", not "https://github.com/acme/exceptions/.github/workflows/merge.yaml@refs/heads/main"
}
