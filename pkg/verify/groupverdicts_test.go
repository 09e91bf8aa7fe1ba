package verify_test

import (
	"testing"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

// groupVerdicts are about groups. Each must be met.
func groupVerdicts(w *world) []verdict {
	const anna, ben, carl, dora = "anna@acme.example", "ben@acme.example", "carl@acme.example", "dora@acme.example"
	named := func(name, mailbox string) trust.AuthorityConfig {
		return trust.AuthorityConfig{Name: name, Issuer: w.IssuerURL, Subject: mailbox}
	}
	anybody := func(name string) trust.AuthorityConfig {
		return trust.AuthorityConfig{Name: name, Issuer: w.IssuerURL, SubjectRegexp: `.*@acme.example`}
	}
	two := func(c *trust.Config) {
		c.Authorities = []trust.AuthorityConfig{named("anna", anna), named("ben", ben), named("carl", carl), named("dora", dora)}
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
		c.Authorities = []trust.AuthorityConfig{anybody("either"), anybody("or"), named("anna", anna)}
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
