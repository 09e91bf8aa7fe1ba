package trust_test

import (
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
)

// TestAuthorityString: an authority with a key is described by the fingerprint of the key.
func TestAuthorityString(t *testing.T) {
	text := keyPEM(t, elliptic.P256())
	p := expect.Value(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{
		{Name: "ci", Key: text},
		{Name: "merge", Issuer: issuer, Subject: subject, Claims: map[string]trust.Values{"buildTrigger": {"push"}}},
	}}, root(t)))(t)
	block, _ := pem.Decode([]byte(text))
	for i, want := range []string{
		fmt.Sprintf("public key sha256:%x", sha256.Sum256(block.Bytes)),
		subject + ", issuer " + issuer + ", buildTrigger push",
	} {
		expect.Is(t, "result", want, p.Authorities()[i].String())
	}
}

// TestMatches: every part of an identity must match the authority; otherwise the message names the
// different part.
func TestMatches(t *testing.T) {
	claims := map[string]string{"buildTrigger": "push", "sourceRepositoryRef": "refs/heads/main"}
	right := trust.Identity{Issuer: issuer, Subject: subject, Type: "uri", Claims: claims}
	exact := trust.AuthorityConfig{Name: "merge", Issuer: issuer, Subject: subject, Claims: map[string]trust.Values{"buildTrigger": {"push"}, "sourceRepositoryRef": {"refs/heads/main"}}}
	pattern := func(text string) trust.AuthorityConfig {
		return trust.AuthorityConfig{Name: "merge", Issuer: issuer, SubjectRegexp: text}
	}
	person := trust.AuthorityConfig{Name: "anna", Issuer: issuer, Subject: "anna@acme.example"}
	for _, tc := range []struct {
		name      string
		authority trust.AuthorityConfig
		bend      func(*trust.Identity)
		want      string
	}{
		{"exact", exact, func(*trust.Identity) {}, ""},
		{"issuer", exact, func(id *trust.Identity) { id.Issuer += "/" }, "issuer"},
		{"issuer in another case", exact, func(id *trust.Identity) { id.Issuer = strings.ToUpper(id.Issuer) }, "issuer"},
		{"no issuer", exact, func(id *trust.Identity) { id.Issuer = "" }, "issuer"},
		{"subject", exact, func(id *trust.Identity) { id.Subject += "x" }, "subject"},
		{"subject in another case", exact, func(id *trust.Identity) { id.Subject = strings.ToUpper(id.Subject) }, "subject"},
		{"type", exact, func(id *trust.Identity) { id.Type = "email" }, "type"},
		{"claim", exact, func(id *trust.Identity) { id.Claims = map[string]string{"buildTrigger": "push"} }, "sourceRepositoryRef"},
		{"no claims", exact, func(id *trust.Identity) { id.Claims = nil }, "buildTrigger"},
		{"pattern", pattern(`https://github\.com/acme/.+@refs/heads/main`), func(*trust.Identity) {}, ""},
		{"pattern with anchors of its own", pattern(`^https://github\.com/acme/.+$`), func(*trust.Identity) {}, ""},
		{"pattern with escaped slashes", pattern(`https:\/\/github\.com\/acme\/.+`), func(*trust.Identity) {}, ""},
		{"pattern over several lines", pattern(`(?m)^https://github\.com/acme/.+$`), func(id *trust.Identity) { id.Subject = "https://evil\n" + id.Subject }, "subject"},
		{"pattern and a line behind", pattern(`https://github\.com/acme/.+@refs/heads/main`), func(id *trust.Identity) { id.Subject += "\nx" }, "subject"},
		{"pattern and a line break behind", pattern(`https://github\.com/acme/.+@refs/heads/main`), func(id *trust.Identity) { id.Subject += "\n" }, "subject"},
		{"first branch of a pattern is anchored", pattern(`https://github\.com/acme/a|https://github\.com/acme/b`), func(id *trust.Identity) { id.Subject = "https://github.com/acme/a/evil" }, "subject"},
		{"last branch of a pattern is anchored", pattern(`https://github\.com/acme/a|https://github\.com/acme/b`), func(id *trust.Identity) { id.Subject = "https://evil/https://github.com/acme/b" }, "subject"},
		{"person", person, func(id *trust.Identity) { id.Subject, id.Type = "anna@acme.example", "email" }, ""},
		{"person's name as an address", person, func(id *trust.Identity) { id.Subject = "anna@acme.example" }, "type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := expect.Value(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{tc.authority}}, root(t)))(t)
			id := right
			tc.bend(&id)
			is, got := p.Authorities()[0].Matches(id)
			expect.Is(t, "matches", tc.want == "", is)
			says(t, got, tc.want)
		})
	}
}
