package verify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// limitVerdicts are about the limits of an authority, and about the maximum lifetimes of some
// documents.
func limitVerdicts(w *world) []verdict {
	const anna, ben = "anna@acme.example", "ben@acme.example"
	limited := func(l trust.Selectors) func(*trust.Config) {
		return func(c *trust.Config) { c.Authorities[0].Limits = &l }
	}
	// Anna may sign anything, and ben for at most four hours.
	glass := func(c *trust.Config) {
		c.Authorities = []trust.AuthorityConfig{
			{Name: "anna", Issuer: w.IssuerURL, Subject: anna},
			{Name: "break-glass", Issuer: w.IssuerURL, Subject: ben},
		}
		c.Lifetimes = []trust.LifetimeConfig{{Authorities: []string{"break-glass"}, Max: "4h"}}
	}
	both := func(c *trust.Config) {
		glass(c)
		c.Threshold = 2
	}
	grouped := func(c *trust.Config) {
		glass(c)
		c.Groups = []trust.GroupConfig{{Name: "night", Threshold: 1, Authorities: []string{"break-glass"}}}
	}
	// The same person or key, with strict limits under one name and wider ones under another.
	twice := func(a trust.AuthorityConfig) func(*trust.Config) {
		return func(c *trust.Config) {
			short, elsewhere := a, a
			short.Name, c.Lifetimes = "short", []trust.LifetimeConfig{{Authorities: []string{"short"}, Max: "4h"}}
			elsewhere.Name, elsewhere.Limits = "elsewhere", &trust.Selectors{Namespaces: []string{"exceptions"}}
			c.Authorities = []trust.AuthorityConfig{short, elsewhere}
		}
	}
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	byKey := trust.AuthorityConfig{Key: string(must(cryptoutils.MarshalPublicKeyToPEM(key.Public())))}
	byAnna := trust.AuthorityConfig{Issuer: w.IssuerURL, Subject: anna}
	// One key that requires a log entry under its first name, and none under its second.
	loosely := func(limits *trust.Selectors) func(*trust.Config) {
		return func(c *trust.Config) {
			strict, loose := byKey, byKey
			strict.Name = "strict"
			loose.Name, loose.InsecureWithoutLog, loose.Limits = "loose", true, limits
			c.MaxLifetime, c.Authorities = "", []trust.AuthorityConfig{strict, loose}
		}
	}
	for4h := func(sets ...set) maker {
		return func(t *testing.T, w *world) *exception.Document {
			return w.sealed(t, w.until(w.now.Truncate(time.Second).Add(4*time.Hour).Sub(w.now)), sets...)
		}
	}
	at := func(s set, d time.Duration) set { s.at = w.now.Add(d); return s }
	draftWith := func(old, with string, sets ...set) maker {
		if len(sets) == 0 {
			sets = []set{{}}
		}
		return func(t *testing.T, w *world) *exception.Document {
			return w.sealed(t, replaced(t, w.until(week), old, with), sets...)
		}
	}
	natively := func(t *testing.T, w *world) *exception.Document {
		return w.sealed(t, native+"  expiresAt: \""+w.now.Add(week).UTC().Format(time.RFC3339)+"\"\n", set{})
	}
	configMap := func(t *testing.T, w *world) *exception.Document {
		return w.sealed(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: exceptions\n  annotations:\n    a: b\n", set{})
	}
	ofAnyKind := func(bend func(*trust.Config)) func(*trust.Config) {
		return func(c *trust.Config) {
			bend(c)
			c.Kinds = []string{"*"}
		}
	}
	lifetimes := func(rules ...trust.LifetimeConfig) func(*trust.Config) {
		return func(c *trust.Config) { c.Lifetimes = rules }
	}
	unbounded := func(bend func(*trust.Config)) func(*trust.Config) {
		return func(c *trust.Config) {
			bend(c)
			c.InsecureAllowUnbounded = true
		}
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
		{name: "limits: nothing that ends", want: beyond, doc: configMap, policy: ofAnyKind(func(c *trust.Config) {
			c.Authorities[0].Name = "a"
			c.Lifetimes = []trust.LifetimeConfig{{Authorities: []string{"a"}, Max: "4h"}}
		})},

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
		{name: "renewals: without an end, and their lifetime has a maximum", want: verify.ReasonNoExpiry, policy: unbounded(renewals(trust.RenewalsConfig{MaxLifetime: "6d"})),
			doc: lived(exception.AnnotationRenews + ": allow-latest@sha256:" + strings.Repeat("0", 64) + "\n    " + exception.AnnotationRenewal + ": \"1\"")},
		{name: "renewals: approved by enough", doc: renewal("1", "bob, carol"), policy: renewals(trust.RenewalsConfig{RequireApprovals: 2})},
		{name: "renewals: approved by one under two spellings", want: verify.ReasonRenewalNotAllowed, doc: renewal("1", "bob, BOB"), policy: renewals(trust.RenewalsConfig{RequireApprovals: 2})},
		{name: "renewals: without a record", want: verify.ReasonRenewalNotAllowed, doc: renewal("1", ""), policy: renewals(trust.RenewalsConfig{RequireApprovals: 1})},

		{name: "break-glass for four hours", doc: for4h(person(ben)), policy: glass},
		{name: "break-glass for a week", want: beyond, doc: forged(person(ben)), policy: glass},
		{name: "break-glass for a week, and somebody who may", doc: forged(person(ben), person(anna)), policy: glass},
		{name: "break-glass for a week, and two have to", want: beyond, doc: forged(person(ben), person(anna)), policy: both},
		{name: "break-glass for a week, its group has to", want: beyond, doc: forged(person(ben), person(anna)), policy: grouped},
		{name: "break-glass for a week, alone where two have to", want: verify.ReasonTooFewAuthorities, doc: forged(person(ben)), policy: both},
		{name: "break-glass for four hours, signed too early", want: beyond, doc: for4h(at(person(ben), -time.Minute)), policy: glass},
		{name: "break-glass for four hours, signed too early and again", doc: for4h(at(person(ben), -time.Minute), person(ben)), policy: glass},
		{name: "break-glass counts from its own signature", doc: for4h(at(person(anna), -time.Minute), person(ben)), policy: both},
		{name: "break-glass by a key that nobody witnessed", want: beyond, doc: withoutEvidence(set{key: key, keyed: true}), policy: func(c *trust.Config) {
			a := byKey
			a.Name, a.InsecureWithoutLog = "a", true
			c.MaxLifetime, c.Authorities, c.Lifetimes = "", []trust.AuthorityConfig{a}, []trust.LifetimeConfig{{Authorities: []string{"a"}, Max: "52w"}}
		}},
		{name: "one person for little here and more there", doc: forged(person(anna)), policy: twice(byAnna)},
		{name: "one key for little here and more there", doc: stated(0, set{key: key, keyed: true}), policy: twice(byKey)},
		{name: "one key that needs no log entry under its second name", doc: withoutEvidence(set{key: key, keyed: true}), policy: loosely(nil)},
		{name: "one key that needs no log entry under the name that may not sign it", want: beyond, doc: withoutEvidence(set{key: key, keyed: true}), policy: loosely(&trust.Selectors{Namespaces: []string{"open"}})},
		{name: "one person for little here and more elsewhere", want: beyond, doc: draftWith("namespace: exceptions", "namespace: open", person(anna)), policy: twice(byAnna)},

		{name: "lifetimes: longer than its policy allows", want: long, doc: honest, policy: lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"disallow-*"}}, Max: "6d"})},
		{name: "lifetimes: as long as its policy allows", doc: honest, policy: lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"disallow-*"}}, Max: "7d1m"})},
		{name: "lifetimes: of another policy", doc: honest, policy: lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"require-*"}}, Max: "1h"})},
		{name: "lifetimes: of any policy by a pattern of its own", want: long, doc: draftWith("policyName: disallow-latest-tag", "policyName: dis*"), policy: lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"require-probes"}}, Max: "6d"})},
		{name: "lifetimes: longer than its namespace allows", want: long, doc: honest, policy: lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Namespaces: []string{"exceptions"}}, Max: "6d"})},
		{name: "lifetimes: longer than a namespace allows that it does not say", want: long, doc: draftWith("  namespace: exceptions\n", ""), policy: lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Namespaces: []string{"prod"}}, Max: "6d"})},
		{name: "lifetimes: longer than its kind allows", want: long, doc: honest, policy: lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Kinds: []string{"PolicyException.kyverno.io"}}, Max: "6d"})},
		{name: "lifetimes: the shortest counts", want: long, doc: honest, policy: lifetimes(
			trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"*"}}, Max: "6d"}, trust.LifetimeConfig{Selectors: trust.Selectors{Kinds: []string{"*"}}, Max: "30d"})},
		{name: "lifetimes: no selector of two is enough", doc: honest, policy: lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"disallow-*"}, Namespaces: []string{"prod"}}, Max: "1h"})},
		{name: "lifetimes: none is longer than the maximum of all", want: long, doc: lived("polex.dev/expires-at: \"" + w.now.Add(91*day).UTC().Format(time.RFC3339) + "\""), policy: lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"*"}}, Max: "365d"})},
		{name: "lifetimes: no end where a rule asks for one", want: verify.ReasonNoExpiry, doc: lived("a: b"), policy: unbounded(lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"disallow-*"}}, Max: "7d"}))},
		{name: "lifetimes: no end where no rule asks for one", doc: lived("a: b"), policy: unbounded(lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Policies: []string{"require-*"}}, Max: "7d"}))},
		{name: "lifetimes: another kind without an end", want: verify.ReasonNoExpiry, doc: configMap, policy: ofAnyKind(lifetimes(trust.LifetimeConfig{Selectors: trust.Selectors{Kinds: []string{"ConfigMap"}}, Max: "7d"}))},
	}
}
