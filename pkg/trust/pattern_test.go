package trust_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
)

// madeFrom makes the only authority of a policy with a pattern.
func madeFrom(r *trust.Root, expression string) (*trust.Authority, error) {
	p, err := trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{Name: "a", Issuer: issuer, SubjectRegexp: expression}}}, r)
	if err != nil {
		return nil, err
	}
	return p.Authorities()[0], nil
}

// taken returns the type of subject for which an authority matches a name, or "".
func taken(a *trust.Authority, name string) string {
	for _, kind := range []string{"uri", "email"} {
		if is, _ := a.Matches(trust.Identity{Issuer: issuer, Subject: name, Type: kind}); is {
			return kind
		}
	}
	return ""
}

// TestPatternsThatStand: a pattern with a literal host or domain is valid. Only dots in hosts and
// domains change their meaning.
func TestPatternsThatStand(t *testing.T) {
	const acme = "https://github.com/acme/"
	r := root(t)
	for _, tc := range []struct{ expression, kind, fits, other string }{
		{`https://github.com/acme/.*`, "uri", acme + "a", "https://githubXcom/acme/a"},
		{`https://github\.com/acme/.*`, "uri", acme + "a", "https://githubXcom/acme/a"},
		{`https:\/\/github.com\/acme\/.*`, "uri", acme + "a", "https://githubXcom/acme/a"},
		{`https:\/\/github\.com\/acme\/.*`, "uri", acme + "a", "https://evil.example/https://github.com/acme/a"},
		{`^https://github.com/acme/.*$`, "uri", acme + "a", acme + "a\n"},
		{`\Ahttps://github.com/acme/.*\z`, "uri", acme + "a", "https://github.com/acmeX/a"},
		{`https://github.com/acme/a|https://github.com/acme/b`, "uri", acme + "b", "https://githubXcom/acme/b"},
		{`^https://github.com/acme/a$|^https://github.com/acme/b$`, "uri", acme + "b", acme + "ab"},
		{`(https://github.com/acme/a|https://github.com/acme/b)@refs/heads/main`, "uri", acme + "b@refs/heads/main", acme + "b"},
		{`https://github.com/(acme|acme-ops)/.+`, "uri", "https://github.com/acme-ops/a", "https://github.com/acmeXops/a"},
		{`(?m)^https://github.com/acme/.+$`, "uri", acme + "a", "https://evil.example\n" + acme + "a"},
		{`https://git.acme.example:8443/.+`, "uri", "https://git.acme.example:8443/a", "https://git.acme.example/a"},
		{`spiffe://acme.example/ns/.+`, "uri", "spiffe://acme.example/ns/a", "spiffe://acmeXexample/ns/a"},
		{`https://github.com/acme/a.b`, "uri", acme + "aXb", acme + "ab"},
		{`.*@acme.example`, "email", "anna@acme.example", "anna@acmeXexample"},
		{`.*@acme\.example`, "email", "anna@acme.example", "anna@acme.example.evil"},
		{`^(anna|ben)@acme.example$`, "email", "ben@acme.example", "ben@acmeXexample"},
		{`anna@acme.example|ben@acme.example`, "email", "anna@acme.example", "anna@acmeXexample"},
		{`(anna@acme.example|ben@acme.example)\z`, "email", "ben@acme.example", "ben@acmeXexample"},
		{`[a-z.]+@ops-team.acme.example`, "email", "a.b@ops-team.acme.example", "a@acme.example"},
	} {
		t.Run(tc.expression, func(t *testing.T) {
			a := expect.Value(madeFrom(r, tc.expression))(t)
			expect.Is(t, tc.fits, tc.kind, taken(a, tc.fits))
			expect.Is(t, tc.other, "", taken(a, tc.other))
		})
	}
}

// TestPatternsThatFloat: a pattern without a literal host or domain is rejected, with advice.
func TestPatternsThatFloat(t *testing.T) {
	r := root(t)
	for _, expression := range []string{
		`.*`, `.+`, `()`, `|x`, `x`, `acme`, `[^\n]*`, `\S+`,
		`github.com/acme/.*`, `.*github.com/acme/.*`, `.*/acme/.*`, `//github.com/acme/.*`,
		`https://.*`, `https://.*/acme/.*`, `https://[^/]+/acme/.*`, `https:///.*`, `https?://github.com/acme/.*`, `.*://github.com/acme/.*`,
		`https://github.com`, `https://github.com.*`, `https://github.com.+/acme/.*`, `https://github.com/?.*`, `https://github.com(/acme)?.*`,
		`https://github.*com/acme/.*`, `https://github.?com/acme/.*`, `https://git.{3}.com/acme/.*`, `https://\w+.com/acme/.*`,
		`https://github[.]?com/acme/.*`, `https://git(hub|lab).com/acme/.*`, `https://github.com@evil.example/.*`,
		`https://github.com/a|.*evil`, `https://github.com/a|`, `.*|https://github.com/a`, `https://github.com/acme/a|https://gitlab.com/acme/a`,
		`(https://github.com/acme/)?.*`, `(https://github.com/acme/)*`, `(?:https://github.com/acme/){0,1}.*`, `(?i)https://github.com/acme/.*`, `(?i:https://github.com)/acme/.*`,
		`\Qhttps://github.com/acme/\E.*`, `https:\\/\\/github.com/acme/.*`,
		`.+@.+`, `.*@[a-z]+.example`, `.*@acme.example.*`, `.*@(acme|evil).example`, `.*@.*.acme.example`, `.*acme.example`, `anna`, `.*@`, `.*@(?i)acme.example`,
		`.*@acme.example|evil`, `.*@acme.example|.*`, `(.*@acme.example)?`, `.*@acme.example?`, `.*@acme.exampl[e]?`, `.*@acme.example+`,
		`(https://)?anna@acme.example`, `.*://.*@acme.example`, `(https:\/\/)?anna@acme\.example`, `.*://.*@acme\.example`, `(?i).*@acme.example`, `(?i).*@acme\.example`,
		`https://github.com/acme/ .*`, "https://github.com/acme/.*\n", "https://github.com/acme/\u202e.*",
		`a)|(b`, `a)|(?:.*`, `a\`, `\Qa`, `[a`, `https://github.com/acme/.*)|(.*`, `https://github.com/acme/a\`, `https://github.com/acme/\Qa`, `https://github.com/acme/[a`,
		strings.Repeat("a", 1025),
	} {
		t.Run(expression, func(t *testing.T) { expect.Failure(madeFrom(r, expression))(t, "subjectRegexp") })
	}
	// The error says how to write it.
	expect.Failure(madeFrom(r, `.*/acme/.*`))(t, "https://github.com/acme/.*", ".*@acme.example")
}

// TestSubjects: a subject must be one that a certificate can have.
func TestSubjects(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://github.com/acme/a/.github/workflows/s.yaml@refs/heads/main": true, "spiffe://acme.example/ns/a": true, "anna@acme.example": true,
		"anna": false, "github.com/acme": false, "://x": false, "https://": false, "https:///x": false, "@": false, "anna@": false, "@acme.example": false,
		"a@b@c": false, "anna @acme.example": false, "anna@acme.example\n": false, "anna\u00a0@acme.example": false, "an\u0000na@acme.example": false,
		"an\u200bna@acme.example": false, "https://github.com/acme/\u202ea": false, "*@acme.example": false, "https://github.com/acme/?": false,
	} {
		_, err := trust.New(trust.Config{Authorities: []trust.AuthorityConfig{{Name: "a", Issuer: issuer, Subject: text}}}, root(t))
		if (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzSubjectRegexp: a valid pattern never matches an identity of another host or domain.
func FuzzSubjectRegexp(f *testing.F) {
	f.Add(`https://github.com/acme/.*`, "https://github.com/acme/a")
	f.Add(`^(anna|ben)@acme.example$`, "ben@acme.example")
	f.Add(`https://github.com/a|.*evil`, "evil")
	f.Add(`(?i)HTTPS://a.b/|\Qx\E`, "x")
	f.Add(`(a@b.c|d@b.c){1,2}\z`, "a@b.c")
	r := root(f)
	f.Fuzz(func(t *testing.T, expression, name string) {
		a, err := madeFrom(r, expression)
		if err != nil {
			return
		}
		for _, stranger := range []string{"", "x", "https://stranger.invalid/a/b@c", "stranger@stranger.invalid", "https:///", "@"} {
			if taken(a, stranger) != "" {
				t.Errorf("%q takes %q", expression, stranger)
			}
		}
		switch taken(a, name) {
		case "uri":
			scheme, rest, ok := strings.Cut(name, "://")
			host, path, slash := strings.Cut(rest, "/")
			if !ok || !slash || host == "" {
				t.Fatalf("%q takes %q, which has no host", expression, name)
			}
			for _, moved := range []string{scheme + "://evil." + host + "/" + path, scheme + "://" + host + ".evil/" + path, scheme + "://x@" + host + "/" + path,
				scheme + "x://" + host + "/" + path, "x" + name, name[1:], scheme + "://" + strings.Replace(host, ".", "x", 1) + "/" + path} {
				if moved != name && taken(a, moved) != "" {
					t.Errorf("%q takes %q as it does %q", expression, moved, name)
				}
			}
		case "email":
			i := strings.LastIndex(name, "@")
			if i < 0 || i == len(name)-1 {
				t.Fatalf("%q takes %q, which has no domain", expression, name)
			}
			for _, moved := range []string{name + ".evil", name[:i+1] + "evil." + name[i+1:], name[:i+1] + strings.Replace(name[i+1:], ".", "x", 1), name[:i] + "x" + name[i+1:]} {
				if moved != name && taken(a, moved) != "" {
					t.Errorf("%q takes %q as it does %q", expression, moved, name)
				}
			}
		}
	})
}
