package trust_test

import (
	"crypto/elliptic"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
	"github.com/polex-dev/polex/pkg/trust/publicgood"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
	"github.com/polex-dev/polex/test/schema"
)

func configuration(t *testing.T, text string) *exception.Document {
	t.Helper()
	return must.Get(exception.Parse([]byte(text), ".polex.yaml"))(t)
}

func TestRead(t *testing.T) {
	doc := configuration(t, `apiVersion: polex.dev/v1alpha1
kind: Config
trust:
  trustedRoot: roots/trusted_root.json
  threshold: 2
  maxLifetime: 90d
  authorities:
    - name: ci
      keyFile: keys/ci.pub
    - keyFile: /etc/polex/ops.pub
    - issuer: https://accounts.example
      subject: anna@acme.example
      claims: {buildTrigger: push}
`)
	got := must.Get(trust.Read(doc, filepath.FromSlash("/srv/repo")))(t)
	want := trust.Config{
		Source: ".polex.yaml", TrustedRoot: "/srv/repo/roots/trusted_root.json", Threshold: 2, MaxLifetime: "90d",
		Authorities: []trust.AuthorityConfig{
			{Source: `.polex.yaml:8:7: authority 1 "ci"`, Name: "ci", KeyFile: "/srv/repo/keys/ci.pub"},
			{Source: ".polex.yaml:10:7: authority 2", KeyFile: "/etc/polex/ops.pub"},
			{Source: ".polex.yaml:11:7: authority 3", Issuer: "https://accounts.example", Subject: "anna@acme.example", Claims: map[string]trust.Values{"buildTrigger": {"push"}}},
		},
	}
	expect.Equal(t, "result", want, got, noLocate)
	empty := configuration(t, "apiVersion: polex.dev/v1alpha1\nkind: Config\n")
	nothing := must.Get(trust.Read(empty, "/srv/repo"))(t)
	expect.Equal(t, "where there is nothing", trust.Config{Source: ".polex.yaml"}, nothing, noLocate)
}

// noLocate leaves out a function; TestLocated calls it.
var noLocate = cmpopts.IgnoreFields(trust.Config{}, "Locate")

// TestLocated: the error for an invalid value has its position, which the section trust does not change.
func TestLocated(t *testing.T) {
	const ci = "  authorities:\n    - {name: ci, issuer: https://a.example, subject: a@b.example}\n"
	for text, want := range map[string]string{
		"  maxLifetime: \"30\"\n":            `.polex.yaml:4:3: maxLifetime: "30"`,
		"  expiryKeys: [polex.dev/a]\n":      `.polex.yaml:4:3: expiryKeys: "polex.dev/a"`,
		"  grandfathered: [{until: 2027}]\n": `.polex.yaml:4:`,
		"  threshold: 2\n" + ci:              `.polex.yaml:4:3: the threshold 2`,
		"  groups: [{threshold: 1}]\n":       `.polex.yaml:4:12: group 1 : it has no name`,
		"  authorities:\n    - {subjectRegexp: '[', issuer: https://a.example}\n": `.polex.yaml:5:7: authority 1: subjectRegexp: error parsing regexp`,
		"  authorities:\n    - {keyFile: a, key: b}\n":                            `.polex.yaml:5:7: authority 1: key and keyFile are both set`,
	} {
		c, err := trust.Read(configuration(t, "apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust:\n"+text), ".")
		if err == nil {
			_, err = policyfile.Check(c)
		}
		expect.That(t, err != nil && strings.HasPrefix(err.Error(), want), "%s%v, want %s", text, err, want)
	}
}

// TestReadRefuses: the error for an unknown key in the section trust has its position. Its author may have wanted to forbid
// something. TestSchemaExamples has more errors of both kinds of file.
func TestReadRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, at string }{
		{"a word in another case", "trust:\n  Threshold: 2\n", ".polex.yaml:2:3"},
		{"a claim that is no text", "trust:\n  authorities:\n    - claims: {buildTrigger: true}\n", ".polex.yaml:"},
		{"a word in the limits of the second", "trust:\n  authorities:\n    - name: a\n    - limits:\n        namespace: [a]\n", ".polex.yaml:5:9"},
		{"limits that are a list", "trust:\n  authorities:\n    - limits: [a]\n", ".polex.yaml:"},
		{"a policy that is text", "trust: anybody\n", ".polex.yaml:1:1"},
		{"a policy that is a list", "trust: [anybody]\n", ".polex.yaml:1:1"},
		{"an empty subject beside a pattern", "trust:\n  authorities:\n    - subject: \"\"\n      subjectRegexp: a\n", ".polex.yaml:3:7"},
		{"a name of nothing within a limit", "trust:\n  authorities:\n    - limits:\n        namespaces: [a, \"\"]\n", ".polex.yaml:4:25"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := trust.Read(configuration(t, tc.text+"apiVersion: polex.dev/v1alpha1\nkind: Config\n"), ".")
			var syntax *exception.SyntaxError
			must.That(t, errors.As(err, &syntax), "%+v, %v", c, err)
			expect.That(t, strings.HasPrefix(syntax.Position.String(), tc.at),
				"at %s, want %s: %v", syntax.Position, tc.at, err)
			expect.Equal(t, "an error and a policy", trust.Config{}, c)
		})
	}
}

// TestReadTrustPolicy: a separate file states its kind, and has only a trust policy.
func TestReadTrustPolicy(t *testing.T) {
	const header = "apiVersion: polex.dev/v1alpha1\nkind: TrustPolicy\n"
	text := header + "threshold: 2\nauthorities:\n  - {name: ci, keyFile: ci.pub}\n  - {name: cd, keyFile: cd.pub}\n"
	got := must.Get(trust.Read(configuration(t, text), "/srv"))(t)
	want := trust.Config{Source: ".polex.yaml", Threshold: 2, Authorities: []trust.AuthorityConfig{
		{Source: `.polex.yaml:5:5: authority 1 "ci"`, Name: "ci", KeyFile: "/srv/ci.pub"}, {Source: `.polex.yaml:6:5: authority 2 "cd"`, Name: "cd", KeyFile: "/srv/cd.pub"}}}
	expect.Equal(t, "result", want, got, noLocate)
	for text, at := range map[string]string{
		"kind: TrustPolicy\nthreshold: 2\n":                            ".polex.yaml:1:1: this is not a trust policy",
		"apiVersion: polex.dev/v1alpha1\nkind: Policy\nthreshold: 2\n": ".polex.yaml:1:1: this is not a trust policy",
		header + "trust: {threshold: 2}\n":                             ".polex.yaml:3:1",
		header + "shape: {}\n":                                         ".polex.yaml:3:1",
		header + "metadata: {name: a}\n":                               ".polex.yaml:3:1",
	} {
		c, err := trust.Read(configuration(t, text), ".")
		var syntax *exception.SyntaxError
		expect.That(t, errors.As(err, &syntax) && strings.HasPrefix(err.Error(), at) && cmp.Equal(trust.Config{}, c),
			"%s%v, want %s", text, err, at)
	}
}

// TestRemovedKeys: a key that polex no longer has is an error that names the replacement.
func TestRemovedKeys(t *testing.T) {
	for _, key := range []string{"certificateAuthority", "certificateAuthorityFile"} {
		_, err := trust.Read(configuration(t, "apiVersion: polex.dev/v1alpha1\nkind: TrustPolicy\nauthorities:\n  - subject: anna@acme.example\n    "+key+": x\n"), ".")
		var syntax *exception.SyntaxError
		if !errors.As(err, &syntax) || syntax.Position.Line != 5 || !strings.Contains(syntax.Hint, "trustedRoot") {
			t.Errorf("%s: %v, hint %q", key, err, syntax.Hint)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	key, key2 := keyPEM(t, elliptic.P256()), keyPEM(t, elliptic.P384())
	keyFile, rootFile := file("ci.pub", key), file("root.json", string(publicgood.TrustedRootJSON()))
	keyed := func(a trust.AuthorityConfig) trust.Config {
		return trust.Config{Authorities: []trust.AuthorityConfig{a}}
	}
	for _, tc := range []struct {
		name   string
		config trust.Config
		want   string
	}{
		{"a key file", keyed(trust.AuthorityConfig{Name: "ci", KeyFile: keyFile}), ""},
		{"a root file", trust.Config{TrustedRoot: rootFile, Authorities: policy().Authorities}, ""},
		{"no key file", keyed(trust.AuthorityConfig{Name: "ci", KeyFile: keyFile + "x"}), "keyFile: open"},
		{"key and key file", keyed(trust.AuthorityConfig{Name: "ci", Key: key2, KeyFile: keyFile}), "both set"},
		{"an empty key file beside an identity", keyed(trust.AuthorityConfig{Name: "ci", KeyFile: file("empty", ""), Issuer: issuer, Subject: subject}), "keyFile:"},
		{"key file and issuer", keyed(trust.AuthorityConfig{Name: "ci", KeyFile: keyFile, Issuer: issuer}), "not both"},
		{"two keys in a file", keyed(trust.AuthorityConfig{KeyFile: file("two.pub", key+key2)}), "there are 2 here"},
		{"a key and half of another", keyed(trust.AuthorityConfig{KeyFile: file("half.pub", key+key2[:60])}), "not a complete PEM"},
		{"an empty key file", keyed(trust.AuthorityConfig{Name: "ci", KeyFile: file("empty", "")}), "keyFile:"},
		{"a key file that is a folder", keyed(trust.AuthorityConfig{Name: "ci", KeyFile: dir}), "keyFile: "},
		{"a key file beyond all measure", keyed(trust.AuthorityConfig{Name: "ci", KeyFile: file("huge", strings.Repeat("a", 4<<20+1))}), "larger than"},
		{"no root file", trust.Config{TrustedRoot: rootFile + "x", Authorities: policy().Authorities}, "trusted root"},
		{"a root file of something else", trust.Config{TrustedRoot: keyFile, Authorities: policy().Authorities}, "trusted root"},
		{"nobody", trust.Config{}, "names no authority"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := append([]trust.AuthorityConfig(nil), tc.config.Authorities...)
			p, err := trust.Load(tc.config)
			expect.Equal(t, "loading changed the configuration", before, tc.config.Authorities)
			expect.Outcome(t, err, tc.want)
			expect.Is(t, "a policy", tc.want == "", p != nil)
		})
	}
}

func TestParseRoot(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "null": "null", "an empty object": "{}", "a list": "[]",
		"no more than a media type": `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`,
		"another media type":        `{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=9"}`,
	} {
		expect.Failure(trust.ParseRoot([]byte(text), name))(t, name)
	}
	for _, tc := range []struct {
		without             string
		issues, logs, ct, t bool
	}{
		{"", true, true, true, true},
		{"certificateAuthorities", false, true, true, true},
		{"tlogs", true, false, true, true},
		{"ctlogs", true, true, false, true},
		{"timestampAuthorities", true, true, true, false},
	} {
		r := root(t, tc.without)
		if r.Issues() != tc.issues || r.Logs() != tc.logs || r.LogsCertificates() != tc.ct || r.Timestamps() != tc.t {
			t.Errorf("without %q: issues %t, logs %t, logs certificates %t, timestamps %t", tc.without, r.Issues(), r.Logs(), r.LogsCertificates(), r.Timestamps())
		}
	}
	expect.That(t, root(t).Log([]byte("nobody")) == nil, "a log that nobody named")
}

// FuzzPolicy: a policy that loads has an authority, requires no more signers than can sign, and passes the schema.
func FuzzPolicy(f *testing.F) {
	const header = "apiVersion: polex.dev/v1alpha1\nkind: TrustPolicy\n"
	f.Add(everything)
	f.Add(header + "authorities:\n  - {issuer: https://accounts.example, subject: anna@acme.example}\n")
	f.Add(header + "authorities:\n  - {issuer: http://localhost, subjectRegexp: (a|b)@acme.example, claims: {buildTrigger: push}}\n")
	f.Add(header + "authorities:\n  - key: |\n      -----BEGIN PUBLIC KEY-----\n")
	f.Add(header + "authorities:\n  - {subject: a@b, certificateAuthority: a}\n")
	f.Add(header + "authorities: []\nthreshold: -1\n")
	s, r := schema.Compile(f, schemaFile), root(f)
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
