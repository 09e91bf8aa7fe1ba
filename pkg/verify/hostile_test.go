package verify_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// hostile returns the documents that cost most, by name. Anybody can write them: no signer of the trust policy signed
// one, and the evidence of their signatures is valid where that costs more.
func hostile(t testing.TB) map[string][]byte {
	t.Helper()
	w := inWorld(t)
	large, small := []byte(strings.Repeat("x", 1<<20)), []byte(w.until(day))
	signed := func(message []byte, n int, curve elliptic.Curve, stranger set, trusted ...set) []byte {
		s := &seal.Seal{Message: message}
		for _, own := range trusted {
			s.Signatures = append(s.Signatures, w.sign(t, message, own))
		}
		for range n {
			stranger.key, stranger.identity = must.Get(ecdsa.GenerateKey(curve, rand.Reader))(t), w.otherIssuer
			s.Signatures = append(s.Signatures, w.sign(t, message, stranger))
		}
		return attach(t, parse(t, w.until(week)), s).Source()
	}
	all := func(curve elliptic.Curve, one set) []byte {
		return signed(large, seal.MaxSignatures, curve, one)
	}
	stamps := []time.Time{w.now, w.now.Add(time.Second), w.now.Add(2 * time.Second), w.now.Add(3 * time.Second)}
	stamped, once := set{onlyV03: true, stamps: stamps}, set{onlyV03: true, stamps: stamps[:1]}
	documents := map[string][]byte{
		"P-256": all(elliptic.P256(), set{}), "P-384": all(elliptic.P384(), set{}), "P-521": all(elliptic.P521(), set{}),
		"timestamps":   all(elliptic.P521(), set{onlyV03: true, stamps: stamps[:1]}),
		"Rekor 2":      all(elliptic.P521(), set{v2: true, stamps: stamps[:1]}),
		"certificates": all(elliptic.P521(), set{onlyV03: true, stamps: stamps, v03: certifiedTimestamps(t)}),
		"hashes":       all(elliptic.P521(), set{onlyV03: true, v03: longHashes}),
		"gzip":         packedTo(t, w),
		// A false certificate with the name of a trusted signer.
		"a false name": all(elliptic.P521(), set{selfSigned: asFulcio}),
		// One signature, which is verified to explain who made it.
		"one signature":  signed(large, 1, elliptic.P521(), once),
		"its timestamps": signed(large, 1, elliptic.P521(), stamped),
		// The signature of a trusted signer, from a published document, with what anybody can add to it.
		"strangers beside":      signed(small, seal.MaxSignatures-1, elliptic.P521(), set{}, set{}),
		"few strangers beside":  signed(small, 2, elliptic.P384(), once, once),
		"slow strangers beside": signed(small, 2, elliptic.P521(), once, once),
		"timestamps beside":     signed(small, 0, nil, set{}, stamped),
		"stamped strangers":     signed(small, 1, elliptic.P521(), stamped, stamped),
	}
	for name, text := range hostileTexts() {
		documents[name] = []byte(swapped(w.until(week), "spec:\n", "spec:\n  x: "+text+"\n"))
	}
	return documents
}

// hostileTexts returns values of YAML that cost the readers most.
func hostileTexts() map[string]string {
	list := func(item string, n int) string { return "[" + strings.Repeat(item+",", n) + "1]" }
	var keys strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&keys, "k%d: 1,", i)
	}
	return map[string]string{
		"values": list("1", 9000), "keys": "{" + keys.String() + "}", "floats": list("1e5", 9000),
		"levels":  list(strings.Repeat("[", 50)+strings.Repeat("]", 50), 150),
		"numbers": list(strings.Repeat("1", 999)+"x", 1000),
		"times":   list("2020-01-01 00:00:00."+strings.Repeat("1", 100), 4000),
		"escapes": `"` + strings.Repeat(`\x41`, 99_000) + `"`, "many escapes": `"` + strings.Repeat(`\x41`, 128_000) + `"`,
		"quotes": `'` + strings.Repeat(`''`, 49_000) + `'`, "many quotes": `'` + strings.Repeat(`''`, 250_000) + `'`,
		"words":           strings.Repeat("x ", 250_000),
		"an unusual text": `"` + strings.Repeat("é", 250_000) + `"`, "less of it": `"` + strings.Repeat("é", 76_000) + `"`,
		"few floats": list("1e5", 1150), "long floats": list("1."+strings.Repeat("1", 30), 950),
		"all of it":          "[" + strings.Repeat("1."+strings.Repeat("1", 30)+",", 450) + `"` + strings.Repeat("é ", 2_700) + strings.Repeat("é", 14_000) + `"]`,
		"text":               strings.Repeat("x", 500_000),
		"some words":         strings.Repeat("x ", 99_000),
		"a folded text":      ">\n" + strings.Repeat("    "+strings.Repeat("é ", 40)+"\n", 4000),
		"some unusual words": strings.Repeat("é ", 8_000), "few times": list("2020-01-01 00:00:00."+strings.Repeat("1", 50), 330),
		"less folded": ">\n" + strings.Repeat("    "+strings.Repeat("é ", 10)+"\n", 1040),
		"comments":    "1\n" + strings.Repeat("  # é\n", 3300),
	}
}

// longHashes makes the hashes of a proof as long as a bundle can be.
func longHashes(b *protobundle.Bundle) {
	b.VerificationMaterial.TlogEntries[0].InclusionProof.Hashes = slices.Repeat([][]byte{bytes.Repeat([]byte("x"), 2900)}, 64)
}

// certifiedTimestamps adds certificates with slow keys to each timestamp.
func certifiedTimestamps(t testing.TB) func(*protobundle.Bundle) {
	key := must.Get(rsa.GenerateKey(rand.Reader, 4096))(t)
	return func(b *protobundle.Bundle) {
		for _, stamp := range b.VerificationMaterial.TimestampVerificationData.Rfc3161Timestamps {
			stamp.SignedTimestamp = editedTimestamp(t, stamp.SignedTimestamp, func(t testing.TB, signed *der) {
				for range 3 {
					signed.addCertificate(t, &key.PublicKey)
				}
			})
		}
	}
}

// packedTo returns a document whose annotations unpack to the most bytes.
func packedTo(t testing.TB, w *world) []byte {
	bundle := packed(strings.Repeat("x", 250<<10))
	doc := edited(t, w.honest, func(root object) {
		annotations := object{"cosign.sigstore.dev/message": packed(strings.Repeat("x", 1<<20))}
		for i := range seal.MaxSignatures {
			suffix := map[bool]string{true: fmt.Sprintf("_%d", i)}[i > 0]
			annotations["cosign.sigstore.dev/signature"+suffix] = "AAAA"
			annotations["cosign.sigstore.dev/bundle.v0.3"+suffix] = bundle
		}
		dig(t, root, "metadata")["annotations"] = annotations
	})
	return must.Get(exception.Canonical(doc.Object()))(t)
}

// verifyHostile reads and verifies a document with a verifier that remembers nothing of it.
func verifyHostile(t testing.TB, w *world, source []byte) {
	v := w.verifier(t, nil, nil)
	if doc, err := exception.Parse(source, "hostile.yaml"); err == nil {
		expect.Failure(v.Verify(doc, w.now))(t)
	}
}

// TestHostile: a hostile document takes a limited amount of memory.
func TestHostile(t *testing.T) {
	w := inWorld(t)
	for name, source := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			expect.Allocates(t, "verifying it", mostAllocated, func() { verifyHostile(t, w, source) })
		})
	}
}

// BenchmarkHostile measures the time of a hostile document, which is at most 20 ms on a processor of its own: two
// processors verify 100 in a second.
func BenchmarkHostile(b *testing.B) {
	w := inWorld(b)
	for name, source := range hostile(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				verifyHostile(b, w, source)
			}
		})
	}
}

// TestClaims: what no trusted signer can have made is rejected before an operation with the key of a certificate, and
// the signatures of other signers beside those of trusted ones have a limit.
func TestClaims(t *testing.T) {
	w := inWorld(t)
	stranger := func(s set) set {
		s.identity = w.otherIssuer
		return s
	}
	slow := orPanic(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))
	stamps := slices.Repeat([]time.Time{w.now}, 4)
	garbage, falseName := []byte("x"), set{selfSigned: asFulcio}
	for name, tc := range map[string]struct {
		sets         []set
		want, detail string
	}{
		"two strangers beside a trusted signer":   {sets: []set{stranger(set{}), {}, stranger(set{})}},
		"three strangers beside a trusted signer": {[]set{{}, stranger(set{}), stranger(set{}), stranger(set{})}, verify.ReasonWrongIdentity, "3 signatures name"},
		"a slow stranger beside a trusted signer": {[]set{{}, stranger(set{key: slow})}, verify.ReasonWrongIdentity, "its key is P-521"},
		"a slow key of a trusted signer":          {sets: []set{{key: slow}, {}}},
		"a timestamp for each, and a stranger":    {sets: []set{{stamps: stamps[:2]}, stranger(set{})}},
		"more timestamps, and a stranger":         {[]set{{stamps: stamps[:2]}, stranger(set{stamps: stamps[:1]})}, verify.ReasonWrongIdentity, "one timestamp"},
		"strangers with bad signatures":           {[]set{stranger(set{signature: garbage}), stranger(set{signature: garbage})}, verify.ReasonWrongIdentity, "signer is not trusted"},
		"a stranger with many timestamps":         {[]set{stranger(set{signature: garbage, stamps: stamps})}, verify.ReasonWrongIdentity, "signer is not trusted"},
		"one stranger with a bad signature":       {[]set{stranger(set{signature: garbage})}, verify.ReasonBadSignature, "not over this message"},
		"a false name behind a bad signature":     {[]set{{signature: garbage}, falseName}, verify.ReasonUntrustedCertificate, "signature 1: the certificate was not issued"},
		"a bad signature behind a false name":     {[]set{falseName, {signature: garbage}}, verify.ReasonUntrustedCertificate, "signature 0: the certificate was not issued"},
	} {
		t.Run(name, func(t *testing.T) {
			verified, err := w.verifier(t, nil, nil).Verify(w.sealed(t, w.until(week), tc.sets...), w.now)
			if rejected := answers(t, verified, err, tc.want, tc.detail); rejected != nil && len(rejected.Facts.Signatures) > 0 {
				t.Errorf("the facts are %+v, and nothing was verified", rejected.Facts)
			}
		})
	}
}

// BenchmarkCompare measures the comparison of object and message. test/interop compares the whole
// verification with other programs.
func BenchmarkCompare(b *testing.B) {
	w := inWorld(b)
	message := parse(b, string(readSeal(b, w.honest).Message))
	b.ReportAllocs()
	for b.Loop() {
		expect.Empty(b, "differences", seal.Compare(w.honest, message, 4))
	}
}

// limitVerdicts are about the limits of an authority, and about the maximum lifetimes of some documents.
func limitVerdicts(w *world) []verdict {
	const anna, ben = "anna@acme.example", "ben@acme.example"
	limited := func(l trust.Selectors) func(*trust.Config) {
		return func(c *trust.Config) { c.Authorities[0].Limits = &l }
	}
	// Anna may sign anything, and ben for at most four hours.
	lifetimes := func(rules ...trust.LifetimeConfig) func(*trust.Config) {
		return func(c *trust.Config) { c.Lifetimes = rules }
	}
	glass := both(lifetimes(trust.LifetimeConfig{Authorities: []string{"break-glass"}, Max: "4h"}), onlyBy(w.human("anna"),
		trust.AuthorityConfig{Name: "break-glass", Issuer: w.IssuerURL, Subject: ben}))
	twoOf := both(glass, func(c *trust.Config) { c.Threshold = 2 })
	grouped := both(glass, func(c *trust.Config) {
		c.Groups = []trust.GroupConfig{{Name: "night", Threshold: 1, Authorities: []string{"break-glass"}}}
	})
	// The same person or key, with strict limits under one name and wider ones under another.
	twice := func(a trust.AuthorityConfig) func(*trust.Config) {
		short, elsewhere := a, a
		short.Name = "short"
		elsewhere.Name, elsewhere.Limits = "elsewhere", &trust.Selectors{Namespaces: []string{"exceptions"}}
		return both(onlyBy(short, elsewhere), lifetimes(trust.LifetimeConfig{Authorities: []string{"short"}, Max: "4h"}))
	}
	key := newKey()
	keyed := set{key: key, keyed: true}
	hsm := trust.AuthorityConfig{Key: publicPEM(key)}
	byAnna := trust.AuthorityConfig{Issuer: w.IssuerURL, Subject: anna}
	// One key that requires a log entry under its first name, and none under its second.
	loosely := func(limits *trust.Selectors) func(*trust.Config) {
		strict, loose := hsm, hsm
		strict.Name = "strict"
		loose.Name, loose.InsecureWithoutLog, loose.Limits = "loose", true, limits
		return both(atMost(""), onlyBy(strict, loose))
	}
	for4h := func(sets ...set) maker {
		return statedless(w.now.Truncate(time.Second).Add(4*time.Hour).Sub(w.now), sets...)
	}
	at := func(s set, d time.Duration) set { s.at = w.now.Add(d); return s }
	draftWith := func(old, with string, sets ...set) maker { return signed(swapped(w.until(week), old, with), sets...) }
	natively := signed(native + "  expiresAt: \"" + w.now.Add(week).UTC().Format(time.RFC3339) + "\"\n")
	configMap := signed("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: exceptions\n  annotations:\n    a: b\n")
	ofAnyKind := func(bend func(*trust.Config)) func(*trust.Config) { return both(bend, kinds("*")) }
	of := func(longest string, selected trust.Selectors) trust.LifetimeConfig {
		return trust.LifetimeConfig{Selectors: selected, Max: longest}
	}
	// renewal signs a renewal with that number and a record of its approvers.
	renewal := func(number, approvers string) maker {
		says := "    " + exception.AnnotationRenews + ": allow-latest@sha256:" + strings.Repeat("0", 64) + "\n    " + exception.AnnotationRenewal + ": \"" + number + "\"\n"
		if approvers != "" {
			says += "    " + exception.AnnotationRecordedFrom + ": api\n    " + exception.AnnotationApprovedBy + ": " + approvers + "\n"
		}
		return draftWith("    "+exception.AnnotationReason, says+"    "+exception.AnnotationReason)
	}
	renewals := func(l trust.RenewalsConfig) func(*trust.Config) { return func(c *trust.Config) { c.Renewals = &l } }
	const beyond, long = verify.ReasonBeyondLimits, verify.ReasonLifetimeTooLong
	policies := trust.Selectors{Policies: []string{"disallow-*"}}
	payments := trust.Selectors{ExemptedNamespaces: []string{"payments"}}
	return []verdict{
		{name: "limits: of the kind", doc: honest, policy: limited(trust.Selectors{Kinds: []string{"PolicyException.kyverno.io"}})},
		{name: "limits: of another kind", want: beyond, doc: natively, policy: limited(trust.Selectors{Kinds: []string{"PolicyException.kyverno.io"}})},
		{name: "limits: in the namespace", doc: honest, policy: limited(trust.Selectors{Namespaces: []string{"exceptions"}})},
		{name: "limits: in another namespace", want: beyond, doc: honest, policy: limited(trust.Selectors{Namespaces: []string{"exception", "exceptions-*"}})},
		{name: "limits: in no namespace", want: beyond, doc: draftWith("  namespace: exceptions\n", ""), policy: limited(trust.Selectors{Namespaces: []string{"exceptions"}})},
		{name: "limits: moved into the namespace", want: beyond, policy: limited(trust.Selectors{Namespaces: []string{"open"}}),
			doc: changed(change{at: []any{"metadata"}, key: "namespace", value: "open"}.apply)},
		{name: "limits: moved out of the namespace", want: verify.ReasonAltered, policy: limited(trust.Selectors{Namespaces: []string{"exceptions"}}),
			doc: changed(change{at: []any{"metadata"}, key: "namespace", value: "open"}.apply)},
		{name: "limits: from the policy", doc: honest, policy: limited(policies)},
		{name: "limits: from another policy", want: beyond, doc: honest, policy: limited(trust.Selectors{Policies: []string{"disallow-latest"}})},
		{name: "limits: from another policy as well", want: beyond, policy: limited(policies),
			doc: draftWith("  match:\n", "    - policyName: require-probes\n      ruleNames: [\"*\"]\n  match:\n")},
		{name: "limits: from a pattern of policies", want: beyond, doc: draftWith("policyName: disallow-latest-tag", "policyName: disallow-*"), policy: limited(policies)},
		{name: "limits: from a pattern of policies, all of which are allowed", doc: draftWith("policyName: disallow-latest-tag", "policyName: disallow-*"), policy: limited(trust.Selectors{Policies: []string{"*"}})},
		{name: "limits: from a policy with a namespace", want: beyond, doc: draftWith("policyName: disallow-latest-tag", "policyName: disallow-it/all"), policy: limited(policies)},
		{name: "limits: from the policy, in the other group", doc: natively, policy: limited(policies)},
		{name: "limits: no exception from any policy", want: beyond, doc: configMap, policy: ofAnyKind(limited(policies))},
		{name: "limits: exempts in the namespace", doc: honest, policy: limited(payments)},
		{name: "limits: exempts in another namespace", want: beyond, doc: draftWith("namespaces: [payments]", "namespaces: [payments, prod]"), policy: limited(payments)},
		{name: "limits: exempts in a pattern of namespaces", want: beyond, doc: draftWith("namespaces: [payments]", "namespaces: [payments*]"), policy: limited(payments)},
		{name: "limits: exempts everywhere", want: beyond, doc: draftWith("          namespaces: [payments]\n", ""), policy: limited(payments)},
		{name: "limits: exempts everywhere by another filter", want: beyond, doc: draftWith("    any:\n      - resources:\n          kinds: [Pod]\n          namespaces", "    any:\n      - resources: {kinds: [Job]}\n      - resources:\n          kinds: [Pod]\n          namespaces"), policy: limited(payments)},
		{name: "limits: does not show where it exempts", want: beyond, doc: natively, policy: limited(payments)},
		{name: "limits: no exception that exempts anything", want: beyond, doc: configMap, policy: ofAnyKind(limited(payments))},
		{name: "limits: nothing that ends", want: beyond, doc: configMap, policy: ofAnyKind(lifetimes(trust.LifetimeConfig{Authorities: []string{"merge"}, Max: "4h"}))},

		{name: "renewals: as many as the limit", doc: renewal("2", ""), policy: renewals(trust.RenewalsConfig{Max: 2})},
		{name: "renewals: one more than the limit", want: verify.ReasonRenewalNotAllowed, doc: renewal("3", ""), policy: renewals(trust.RenewalsConfig{Max: 2})},
		{name: "renewals: by an annotation that is not signed", want: verify.ReasonAltered, policy: renewals(trust.RenewalsConfig{Max: 1}),
			doc: changed(change{at: []any{"metadata", "annotations"}, key: exception.AnnotationRenewal, value: "1"}.apply)},
		{name: "renewals: taken out of what is applied", want: verify.ReasonRenewalNotAllowed, policy: renewals(trust.RenewalsConfig{Max: 2}),
			doc: func(t *testing.T, w *world) *exception.Document {
				return edited(t, renewal("3", "")(t, w), func(root object) { delete(dig(t, root, "metadata", "annotations"), exception.AnnotationRenewal) })
			}},
		{name: "renewals: a number that is none", want: verify.ReasonRenewalNotAllowed, doc: renewal("0", ""), policy: renewals(trust.RenewalsConfig{Max: 2})},
		{name: "renewals: shorter than a first", doc: renewal("1", ""), policy: renewals(trust.RenewalsConfig{MaxLifetime: "7d1m"})},
		{name: "renewals: longer than one may be", want: long, doc: renewal("1", ""), policy: renewals(trust.RenewalsConfig{MaxLifetime: "6d"})},
		{name: "renewals: as long as only a first may be", doc: honest, policy: renewals(trust.RenewalsConfig{MaxLifetime: "6d"})},
		{name: "renewals: without an end, and their lifetime has a maximum", want: verify.ReasonNoExpiry, policy: both(renewals(trust.RenewalsConfig{MaxLifetime: "6d"}), unbounded),
			doc: lived(exception.AnnotationRenews + ": allow-latest@sha256:" + strings.Repeat("0", 64) + "\n    " + exception.AnnotationRenewal + ": \"1\"")},
		{name: "renewals: approved by enough", doc: renewal("1", "bob, carol"), policy: renewals(trust.RenewalsConfig{RequireApprovals: 2})},
		{name: "renewals: approved by one under two spellings", want: verify.ReasonRenewalNotAllowed, doc: renewal("1", "bob, BOB"), policy: renewals(trust.RenewalsConfig{RequireApprovals: 2})},
		{name: "renewals: without a record", want: verify.ReasonRenewalNotAllowed, doc: renewal("1", ""), policy: renewals(trust.RenewalsConfig{RequireApprovals: 1})},

		{name: "break-glass for four hours", doc: for4h(person(ben)), policy: glass},
		{name: "break-glass for a week", want: beyond, doc: forged(person(ben)), policy: glass},
		{name: "break-glass for a week, and somebody who may", doc: forged(person(ben), person(anna)), policy: glass},
		{name: "break-glass for a week, and two have to", want: beyond, doc: forged(person(ben), person(anna)), policy: twoOf},
		{name: "break-glass for a week, its group has to", want: beyond, doc: forged(person(ben), person(anna)), policy: grouped},
		{name: "break-glass for a week, alone where two have to", want: verify.ReasonTooFewAuthorities, doc: forged(person(ben)), policy: twoOf},
		{name: "break-glass for four hours, signed too early", want: beyond, doc: for4h(at(person(ben), -time.Minute)), policy: glass},
		{name: "break-glass for four hours, signed too early and again", doc: for4h(at(person(ben), -time.Minute), person(ben)), policy: glass},
		{name: "break-glass counts from its own signature", doc: for4h(at(person(anna), -time.Minute), person(ben)), policy: twoOf},
		{name: "break-glass by a key that nobody witnessed", want: beyond, doc: withoutEvidence(keyed), policy: both(
			byKey(key, true), atMost(""), lifetimes(trust.LifetimeConfig{Authorities: []string{"ci"}, Max: "52w"}))},
		{name: "one person for little here and more there", doc: forged(person(anna)), policy: twice(byAnna)},
		{name: "one key for little here and more there", doc: stated(0, keyed), policy: twice(hsm)},
		{name: "one key that needs no log entry under its second name", doc: withoutEvidence(keyed), policy: loosely(nil)},
		{name: "one key that needs no log entry under the name that may not sign it", want: beyond, doc: withoutEvidence(keyed), policy: loosely(&trust.Selectors{Namespaces: []string{"open"}})},
		{name: "one person for little here and more elsewhere", want: beyond, doc: draftWith("namespace: exceptions", "namespace: open", person(anna)), policy: twice(byAnna)},

		{name: "lifetimes: longer than its policy allows", want: long, doc: honest, policy: lifetimes(of("6d", trust.Selectors{Policies: []string{"disallow-*"}}))},
		{name: "lifetimes: as long as its policy allows", doc: honest, policy: lifetimes(of("7d1m", trust.Selectors{Policies: []string{"disallow-*"}}))},
		{name: "lifetimes: of another policy", doc: honest, policy: lifetimes(of("1h", trust.Selectors{Policies: []string{"require-*"}}))},
		{name: "lifetimes: of any policy by a pattern of its own", want: long, doc: draftWith("policyName: disallow-latest-tag", "policyName: dis*"), policy: lifetimes(of("6d", trust.Selectors{Policies: []string{"require-probes"}}))},
		{name: "lifetimes: longer than its namespace allows", want: long, doc: honest, policy: lifetimes(of("6d", trust.Selectors{Namespaces: []string{"exceptions"}}))},
		{name: "lifetimes: longer than a namespace allows that it does not say", want: long, doc: draftWith("  namespace: exceptions\n", ""), policy: lifetimes(of("6d", trust.Selectors{Namespaces: []string{"prod"}}))},
		{name: "lifetimes: longer than its kind allows", want: long, doc: honest, policy: lifetimes(of("6d", trust.Selectors{Kinds: []string{"PolicyException.kyverno.io"}}))},
		{name: "lifetimes: the shortest counts", want: long, doc: honest, policy: lifetimes(
			of("6d", trust.Selectors{Policies: []string{"*"}}), of("30d", trust.Selectors{Kinds: []string{"*"}}))},
		{name: "lifetimes: no selector of two is enough", doc: honest, policy: lifetimes(of("1h", trust.Selectors{Policies: []string{"disallow-*"}, Namespaces: []string{"prod"}}))},
		{name: "lifetimes: none is longer than the maximum of all", want: long, doc: lived("polex.dev/expires-at: \"" + w.now.Add(91*day).UTC().Format(time.RFC3339) + "\""), policy: lifetimes(of("365d", trust.Selectors{Policies: []string{"*"}}))},
		{name: "lifetimes: no end where a rule asks for one", want: verify.ReasonNoExpiry, doc: lived("a: b"), policy: both(lifetimes(of("7d", trust.Selectors{Policies: []string{"disallow-*"}})), unbounded)},
		{name: "lifetimes: no end where no rule asks for one", doc: lived("a: b"), policy: both(lifetimes(of("7d", trust.Selectors{Policies: []string{"require-*"}})), unbounded)},
		{name: "lifetimes: another kind without an end", want: verify.ReasonNoExpiry, doc: configMap, policy: ofAnyKind(lifetimes(of("7d", trust.Selectors{Kinds: []string{"ConfigMap"}})))},
	}
}
