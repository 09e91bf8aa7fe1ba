package trust_test

import (
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// FuzzPolicy: a policy that loads has an authority, requires no more signers than can sign, and passes the schema.
func FuzzPolicy(f *testing.F) {
	const header = "apiVersion: polex.dev/v1alpha1\nkind: TrustPolicy\n"
	f.Add(everything)
	f.Add(header + "authorities:\n  - {issuer: https://accounts.example, subject: anna@acme.example}\n")
	f.Add(header + "authorities:\n  - {issuer: http://localhost, subjectRegexp: (a|b)@acme.example, claims: {buildTrigger: push}}\n")
	f.Add(header + "authorities:\n  - key: |\n      -----BEGIN PUBLIC KEY-----\n")
	f.Add(header + "authorities:\n  - {subject: a@b, certificateAuthority: a}\n")
	f.Add(header + "authorities: []\nthreshold: -1\n")
	s, r := schema(f), root(f)
	legacy := must.Get(exception.Parse([]byte(legacyException), "a.yaml"))(f)
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := exception.Parse([]byte(text), "policy.yaml")
		if err != nil {
			return
		}
		config, err := trust.Read(doc, ".")
		if err != nil {
			return
		}
		p, err := trust.New(config, r)
		if err != nil {
			return
		}
		if err := validate(t, s, doc); err != nil {
			t.Errorf("it loads, and the schema refuses it: %v\n%s", err, text)
		}
		if n := len(p.Authorities()); n == 0 || p.Threshold() < 1 || p.Threshold() > n {
			t.Errorf("a threshold of %d for %d authorities\n%s", p.Threshold(), n, text)
		}
		for _, g := range p.Groups() {
			expect.That(t, g.Threshold >= 1 && g.Threshold <= len(g.Authorities),
				"a threshold of %d for %d authorities of %q\n%s", g.Threshold, len(g.Authorities), g.Name, text)
		}
		for _, a := range p.Authorities() {
			for _, id := range []trust.Identity{{}, {Issuer: "https://accounts.example", Subject: "stranger@stranger.invalid", Type: "email"}} {
				if is, _ := a.Matches(id); is {
					t.Errorf("%q is anybody\n%s", a.Name(), text)
				}
			}
			_ = a.Exceeded(p.Rules().ScopeOf(legacy))
		}
		_ = p.Rules().MaxLifetime(p.Rules().ScopeOf(doc))
		counted, enough, _ := p.Assign(nil)
		expect.That(t, !enough && len(counted) == 0, "nobody is enough\n%s", text)
	})
}

// FuzzExtent: limits do not fail on any document that can be parsed.
func FuzzExtent(f *testing.F) {
	f.Add(legacyException)
	f.Add(currentException)
	f.Add("apiVersion: kyverno.io/v2\nkind: PolicyException\nspec: {match: {any: [1, {resources: []}, {resources: {namespaces: {}}}]}, exceptions: [1, {}]}\n")
	p := must.Get(trust.New(limited(&trust.Selectors{
		Namespaces: []string{"exceptions"}, Policies: []string{"require-*"}, ExemptedNamespaces: []string{"payments", "shop"},
	}), root(f)))(f)
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := exception.Parse([]byte(text), "a.yaml")
		if err != nil {
			return
		}
		if p.Authorities()[0].Exceeded(p.Rules().ScopeOf(doc)) != "" {
			return
		}
		expect.That(t, doc.GroupKind().IsException() && doc.Text("metadata", "namespace") == "exceptions",
			"within the limits:\n%s", text)
	})
}
