package trust_test

import (
	"regexp"
	"testing"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
)

// TestDigest: policies of one content have one digest, wherever it is from, and every
// difference makes another.
func TestDigest(t *testing.T) {
	digest := func(change func(*trust.Config)) string {
		t.Helper()
		c := trust.Config{Authorities: []trust.AuthorityConfig{{Name: "merge", Issuer: "https://accounts.example", Subject: "a@acme.example"}}}
		change(&c)
		p := expect.Value(trust.Load(c))(t)
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
		if digest(change) == same {
			t.Errorf("another %s has the same digest", name)
		}
	}
	if digest(func(c *trust.Config) { c.Source, c.Authorities[0].Source = "a.yaml", "a.yaml:3:5" }) != same {
		t.Error("the digest depends on the place of the policy")
	}
}
