package trust_test

import (
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sigstore/fulcio/pkg/certificate"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/publicgood"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func mailbox(name string) trust.AuthorityConfig {
	return trust.AuthorityConfig{Name: name, Issuer: issuer, Subject: name + "@acme.example"}
}

// TestThresholds: thresholds that no document can meet are an error when the policy is made.
func TestThresholds(t *testing.T) {
	key := keyPEM(t, elliptic.P256())
	group := func(name string, threshold int, members ...string) trust.GroupConfig {
		return trust.GroupConfig{Name: name, Threshold: threshold, Authorities: members}
	}
	groups := func(groups ...trust.GroupConfig) func(*trust.Config) {
		return func(c *trust.Config) { c.Groups = groups }
	}
	also := func(a trust.AuthorityConfig, threshold int) func(*trust.Config) {
		return func(c *trust.Config) { c.Authorities, c.Threshold = append(c.Authorities, a), threshold }
	}
	both := func(changes ...func(*trust.Config)) func(*trust.Config) {
		return func(c *trust.Config) {
			for _, change := range changes {
				change(c)
			}
		}
	}
	groupsOfOne := func(n int) func(*trust.Config) {
		return func(c *trust.Config) {
			for i := range n {
				name := fmt.Sprint("p", i)
				c.Authorities, c.Groups = append(c.Authorities, mailbox(name)), append(c.Groups, group(name, 1, name))
			}
		}
	}
	annaAgain := trust.AuthorityConfig{Name: "anna again", Issuer: issuer, Subject: "anna@acme.example"}
	anybody := trust.AuthorityConfig{Name: "anybody", Issuer: issuer, SubjectRegexp: ".*@acme.example"}
	orAnybody := trust.AuthorityConfig{Name: "or anybody", Issuer: issuer, SubjectRegexp: ".*@acme.example"}
	for _, tc := range []struct {
		name string
		bend func(*trust.Config)
		want string
	}{
		{"two groups", groups(group("a", 2, "anna", "ben"), group("b", 1, "carl")), ""},
		{"a group of some", groups(group("a", 1, "anna", "ben")), ""},
		{"no name", groups(group("", 1, "anna")), "no name"},
		{"a name that hides something", groups(group("a\u202e", 1, "anna")), "control character"},
		{"a name that ends in white space", groups(group("a ", 1, "anna")), "white space"},
		{"an empty name", groups(group("a", 1, "")), `called ""`},
		{"a negative threshold", groups(group("a", -1, "anna")), "threshold -1"},
		{"a member of two", groups(group("a", 1, "anna"), group("b", 1, "ben", "anna")), `in the groups "a" and "b"`},
		{"as many groups as signatures", groupsOfOne(8), ""},
		{"more than there are signatures", groupsOfOne(9), "at most 8 signatures"},
		{"a threshold beyond all signatures", both(groupsOfOne(9),
			func(c *trust.Config) { c.Groups, c.Threshold = nil, 9 }), "at most 8 signatures"},
		{"one person under two names, for one", also(annaAgain, 3), ""},
		{"one person under two names, for two", also(annaAgain, 4), "3 signers"},
		{"one key under two names, for two", both(also(trust.AuthorityConfig{Name: "key", Key: key}, 0),
			also(trust.AuthorityConfig{Name: "key again", Key: key + "\n"}, 5)), "4 signers"},
		{"anybody besides", also(anybody, 4), ""},
		{"one person under two names in a group", both(also(annaAgain, 0),
			groups(group("a", 1, "anna", "anna again"))), ""},
		{"one person under two names in a group, for two", both(also(annaAgain, 0),
			groups(group("a", 2, "anna", "anna again"))), "1 signers"},
		{"one person under two names in two groups", both(also(annaAgain, 0),
			groups(group("a", 1, "anna"), group("b", 1, "anna again", "ben"))), "one signer"},
		{"anybody in two groups", both(also(anybody, 0), also(orAnybody, 0),
			groups(group("a", 1, "anybody"), group("b", 1, "or anybody"))), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := trust.Config{Authorities: []trust.AuthorityConfig{mailbox("anna"), mailbox("ben"), mailbox("carl")}}
			tc.bend(&config)
			p, err := trust.New(config, root(t))
			if expect.Outcome(t, err, tc.want); err == nil {
				expect.Is(t, "groups", len(config.Groups), len(p.Groups()))
			}
		})
	}
}

// TestAssign compares the search for an assignment with a search through all assignments, in every
// order of the signers.
func TestAssign(t *testing.T) {
	r := root(t)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 3000 {
		p := randomPolicy(t, r, random)
		candidates := make([][]*trust.Authority, random.IntN(5))
		for i := range candidates {
			for _, a := range p.Authorities() {
				if random.IntN(5) < 2 {
					candidates[i] = append(candidates[i], a)
				}
			}
		}
		want := mostByTrying(p, candidates, nil, true)
		counted, met, lacking := p.Assign(candidates)
		if met != (want >= 0) || met != (lacking == "") {
			t.Fatalf("%s: found %t (%q), there is one: %t", describe(p, candidates), met, lacking, want >= 0)
		}
		if !met && (!fits(candidates, counted) || number(counted) != mostByTrying(p, candidates, nil, false)) {
			t.Fatalf("%s: %d counted where they are not enough", describe(p, candidates), number(counted))
		}
		if lacking == "" {
			found++
			if n := number(counted); n != want || !fits(candidates, counted) || !enough(p, counted) {
				t.Fatalf("%s: %d of %d counted: %v", describe(p, candidates), n, want, counted)
			}
		}
		slices.Reverse(candidates)
		if _, _, again := p.Assign(candidates); again != lacking {
			t.Fatalf("%s: %q in this order, and %q in the other", describe(p, candidates), again, lacking)
		}
	}
	expect.That(t, found >= 300 && found <= 2700,
		"an assignment was found %d times of 3000, which shows too little", found)
}

func randomPolicy(t *testing.T, r *trust.Root, random *rand.Rand) *trust.Policy {
	t.Helper()
	config := trust.Config{}
	var groups [3][]string // the first are in no group
	for i := range 1 + random.IntN(5) {
		name := string(rune('a' + i))
		config.Authorities = append(config.Authorities, mailbox(name))
		g := random.IntN(3)
		groups[g] = append(groups[g], name)
	}
	for i, members := range groups[1:] {
		if len(members) > 0 {
			config.Groups = append(config.Groups, trust.GroupConfig{Name: fmt.Sprint(i), Threshold: 1 + random.IntN(len(members)), Authorities: members})
		}
	}
	config.Threshold = 1 + random.IntN(len(config.Authorities))
	return must.Get(trust.New(config, r))(t)
}

// mostByTrying tries every assignment, and returns the maximum number of counted signers, or -1 if
// none is sufficient although asked is set.
func mostByTrying(p *trust.Policy, candidates [][]*trust.Authority, counted []*trust.Authority, asked bool) int {
	if len(counted) == len(candidates) {
		if fits(candidates, counted) && (!asked || enough(p, counted)) {
			return number(counted)
		}
		return -1
	}
	most := -1
	for _, a := range append([]*trust.Authority{nil}, p.Authorities()...) {
		most = max(most, mostByTrying(p, candidates, append(slices.Clone(counted), a), asked))
	}
	return most
}

// fits checks that each signer counts for one of its candidates, and that each authority counts once.
func fits(candidates [][]*trust.Authority, counted []*trust.Authority) bool {
	for i, a := range counted {
		if a != nil && (!slices.Contains(candidates[i], a) || slices.Contains(counted[:i], a)) {
			return false
		}
	}
	return len(counted) == len(candidates)
}

// enough checks the threshold and the groups as documented.
func enough(p *trust.Policy, counted []*trust.Authority) bool {
	for _, g := range p.Groups() {
		n := 0
		for _, a := range g.Authorities {
			if slices.Contains(counted, a) {
				n++
			}
		}
		if n < g.Threshold {
			return false
		}
	}
	return number(counted) >= p.Threshold()
}

func number(counted []*trust.Authority) int {
	n := 0
	for _, a := range counted {
		if a != nil {
			n++
		}
	}
	return n
}

func describe(p *trust.Policy, candidates [][]*trust.Authority) string {
	text := fmt.Sprintf("threshold %d", p.Threshold())
	for _, g := range p.Groups() {
		text += fmt.Sprintf(", %d of", g.Threshold)
		for _, a := range g.Authorities {
			text += " " + a.Name()
		}
	}
	for _, may := range candidates {
		text += "; a signer for"
		for _, a := range may {
			text += " " + a.Name()
		}
	}
	return text
}

// TestAssignSays: the message names the group with too few signers.
func TestAssignSays(t *testing.T) {
	p := must.Get(trust.New(trust.Config{
		Threshold:   3,
		Authorities: []trust.AuthorityConfig{mailbox("anna"), mailbox("ben"), mailbox("carl"), mailbox("dora")},
		Groups: []trust.GroupConfig{
			{Name: "platform", Threshold: 2, Authorities: []string{"anna", "ben"}},
			{Name: "security", Threshold: 1, Authorities: []string{"carl"}},
		},
	}, root(t)))(t)
	anna, ben, carl, dora := p.Authorities()[0], p.Authorities()[1], p.Authorities()[2], p.Authorities()[3]
	for _, tc := range []struct {
		candidates [][]*trust.Authority
		want       string
	}{
		{nil, `0 of the group "platform" signed it, and 2 are required`},
		{[][]*trust.Authority{{anna}, {carl}, {dora}}, `1 of the group "platform" signed it, and 2 are required`},
		{[][]*trust.Authority{{anna}, {ben}, {dora}}, `0 of the group "security" signed it, and 1 are required`},
		{[][]*trust.Authority{{anna}, {ben, carl}}, "2 of the authorities signed it, and 3 are required"},
		{[][]*trust.Authority{{anna}, {ben, carl}, {dora}}, "do not satisfy all groups at once"},
		{[][]*trust.Authority{{anna}, {ben}, {carl}}, ""},
		{make([][]*trust.Authority, 9), "9 signers, and the maximum is 8"},
	} {
		_, enough, got := p.Assign(tc.candidates)
		expect.That(t, strings.Contains(got, tc.want) && enough == (tc.want == ""), "%q, want %q", got, tc.want)
	}
}

// TestAssignIsBounded: seven signers match each of two hundred authorities, and eight are required.
// Without a memory of failed states, the search would not end.
func TestAssignIsBounded(t *testing.T) {
	config := trust.Config{}
	group := trust.GroupConfig{Name: "all", Threshold: 8}
	for i := range 200 {
		name := fmt.Sprint("a", i)
		config.Authorities = append(config.Authorities, trust.AuthorityConfig{Name: name, Issuer: issuer, SubjectRegexp: `.*@acme.example`})
		group.Authorities = append(group.Authorities, name)
	}
	config.Groups = []trust.GroupConfig{group}
	p := must.Get(trust.New(config, root(t)))(t)
	candidates := make([][]*trust.Authority, 8)
	for i := range 7 {
		candidates[i] = p.Authorities()
	}
	_, _, lacking := p.Assign(candidates)
	expect.Is(t, "lacking", `7 of the group "all" signed it, and 8 are required`, lacking)
}

// TestAuthorityString: an authority with a key is described by the fingerprint of the key.
func TestAuthorityString(t *testing.T) {
	text := keyPEM(t, elliptic.P256())
	p := must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{
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

// TestMatches: every part of an identity must match the authority; otherwise the message names the different part.
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
			p := must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{tc.authority}}, root(t)))(t)
			id := right
			tc.bend(&id)
			is, got := p.Authorities()[0].Matches(id)
			expect.Is(t, "matches", tc.want == "", is)
			says(t, got, tc.want)
		})
	}
}

// TestClaimsOf: every extension of Fulcio has its claim, and one without a name has its number.
func TestClaimsOf(t *testing.T) {
	rendered, err := certificate.Extensions{
		Issuer: "https://accounts.example", BuildTrigger: "push", DeploymentEnvironment: "signing", Subject: "repo:acme/exceptions:environment:signing",
	}.Render()
	must.Do(t, err)
	text := must.Get(asn1.Marshal("new"))(t)
	arc := func(numbers ...int) asn1.ObjectIdentifier {
		return append(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1}, numbers...)
	}
	got, err := trust.Claims(append(rendered, pkix.Extension{Id: arc(25), Value: text}, pkix.Extension{Id: arc(26), Value: []byte{0xff, 0x00}},
		pkix.Extension{Id: arc(2, 1), Value: text}, pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: text}))
	must.Do(t, err)
	want := map[string]string{
		"buildTrigger": "push", "deploymentEnvironment": "signing", "tokenSubject": "repo:acme/exceptions:environment:signing",
		"1.3.6.1.4.1.57264.1.25": "new", "1.3.6.1.4.1.57264.1.26": "ff00", "1.3.6.1.4.1.57264.1.2.1": "new",
	}
	expect.Equal(t, "claims", want, got)
	// An extension that cannot be read counts.
	expect.Failure(trust.Claims([]pkix.Extension{{Id: arc(23), Value: []byte("signing")}}))(t)
}

// TestClaims: every claim that a policy can require is read from a certificate, and no other.
func TestClaims(t *testing.T) {
	var all certificate.Extensions
	value := reflect.ValueOf(&all).Elem()
	for i := range value.NumField() {
		value.Field(i).SetString("x")
	}
	rendered := must.Get(all.Render())(t)
	claims := must.Get(trust.Claims(rendered))(t)
	expect.Equal(t, "result", trust.ClaimNames(), slices.Sorted(maps.Keys(claims)))
}

// TestAllowedMetadata: metadata that polex, Kyverno or a sync tool acts upon cannot be allowed. A
// tool reads each key here.
func TestAllowedMetadata(t *testing.T) {
	root := must.Get(trust.ParseRoot(publicgood.TrustedRootJSON(), "public-good"))(t)
	made := func(field, key, value string) error {
		c := trust.Config{Authorities: []trust.AuthorityConfig{{Issuer: "https://accounts.example", Subject: "anna@acme.example"}}}
		c.ExpiryKeys = []string{"acme.example/until"}
		switch field {
		case "labels":
			c.AllowedMetadata.Labels = map[string]string{key: value}
		default:
			c.AllowedMetadata.Annotations = map[string]string{key: value}
		}
		_, err := trust.New(c, root)
		return err
	}
	for _, field := range []string{"labels", "annotations"} {
		for _, key := range []string{
			"cosign.sigstore.dev/message", "cosign.sigstore.dev/signature_1", "sigstore.dev/a", "polex.dev/reason", "polex.dev/expires-at", "polex.dev/cluster", "x.polex.dev/a",
			"kyverno.io/a", "cleanup.kyverno.io/ttl", "policies.kyverno.io/a", "a.b.kyverno.io/c",
			"argocd.argoproj.io/sync-options", "argocd.argoproj.io/compare-options", "argocd.argoproj.io/hook", "argocd.argoproj.io/tracking-id",
			"kustomize.toolkit.fluxcd.io/prune", "kustomize.toolkit.fluxcd.io/reconcile", "kustomize.toolkit.fluxcd.io/ssa", "kustomize.toolkit.fluxcd.io/force",
			"kustomize.toolkit.fluxcd.io/substitute", "reconcile.fluxcd.io/requestedAt", "helm.toolkit.fluxcd.io/driftDetection",
			"helm.sh/hook", "helm.sh/resource-policy", "meta.helm.sh/other", "kubectl.kubernetes.io/last-applied-configuration",
			"applyset.kubernetes.io/part-of", "config.kubernetes.io/local-config", "internal.config.kubernetes.io/path", "kubernetes.io/metadata.name", "x.app.kubernetes.io/a",
			"config.k8s.io/owning-inventory", "cli-utils.sigs.k8s.io/on-remove", "client.lifecycle.config.k8s.io/deletion",
			"kapp.k14s.io/app", "objectset.rio.cattle.io/hash", "configmanagement.gke.io/managed", "configsync.gke.io/a",
			"acme.example/until",
			"", "/", "a/", "/a", "a/b/c", "team*", "*", "team ", "Kyverno.io/a", "CLEANUP.KYVERNO.IO/ttl", "kyverno.io./a", "a\nb",
		} {
			if err := made(field, key, "x"); err == nil || !strings.HasPrefix(err.Error(), "allowedMetadata."+field+": ") {
				t.Errorf("%s of %s: %v", key, field, err)
			}
		}
		for _, key := range []string{
			"team", "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
			"helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace", "acme.example/team", "notkyverno.io/a",
			"argocd.argoproj.io/instance", "applications.argoproj.io/app-name", "helm.sh/chart", "mycompany.com/appname", // instanceLabelKey of Argo CD
			"kyverno.io.acme.example/a",
		} {
			expect.NoError(t, made(field, key, "x"))
		}
	}
	for _, value := range []string{"a b", "a/b", strings.Repeat("a", 64)} {
		if made("labels", "team", value) == nil || made("annotations", "team", value) != nil {
			t.Errorf("%q: of a label %v, of an annotation %v", value, made("labels", "team", value), made("annotations", "team", value))
		}
	}
}
