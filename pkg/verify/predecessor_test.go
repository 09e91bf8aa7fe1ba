package verify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

// An expired document is verified as of its expiry. A document that is invalid for another reason
// is invalid then too.
func TestPredecessor(t *testing.T) {
	w := inWorld(t)
	doc := w.sealed(t, w.until(week), set{})
	verified := expect.Value(w.verifier(t, nil, nil).Verify(doc, w.now))(t)
	withdrawn := func(c *trust.Config) {
		c.Revoked = []trust.RevocationConfig{{MessageDigest: verified.Facts().MessageDigest}}
	}
	strangers := func(c *trust.Config) { c.Authorities[0].Subject = "nobody@acme.example" }
	for name, tc := range map[string]struct {
		policy func(*trust.Config)
		after  time.Duration
		want   string
	}{
		"that counts":              {nil, 0, ""},
		"that has ended":           {nil, 2 * week, ""},
		"withdrawn":                {withdrawn, 0, verify.ReasonWithdrawn},
		"withdrawn, and has ended": {withdrawn, 2 * week, verify.ReasonWithdrawn},
		"by somebody else":         {strangers, 2 * week, verify.ReasonWrongIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			message, err := w.verifier(t, tc.policy, nil).Predecessor(doc, w.now.Add(tc.after))
			expect.Is(t, "reason", tc.want, reasonIn(t, err))
			if tc.want != "" {
				expect.Failure(message, err)(t)
			} else if message.Identity() != doc.Identity() || message.Annotation("cosign.sigstore.dev/message") != "" {
				t.Errorf("%v, %v", message, err)
			}
		})
	}
}

// TestForesee: a message is rejected before it is signed if its signature would be, but it may start later.
func TestForesee(t *testing.T) {
	w := inWorld(t)
	cert := certificateOf(t, readSeal(t, w.honest).Signatures[0])
	id := expect.Value(verify.IdentityOf(cert))(t)
	later := replaced(t, w.until(week), "    polex.dev/expires-at", fmt.Sprintf("    polex.dev/starts-at: %q\n    polex.dev/expires-at", w.now.Add(time.Hour).UTC().Format(time.RFC3339)))
	for name, tc := range map[string]struct {
		text   string
		policy func(*trust.Config)
		want   string
	}{
		"valid":         {text: w.until(week)},
		"starts later":  {text: later},
		"expired":       {w.until(-day), nil, verify.ReasonExpired},
		"another kind":  {w.until(week), func(c *trust.Config) { c.Kinds = []string{"ConfigMap"} }, verify.ReasonKindNotAllowed},
		"by a stranger": {w.until(week), func(c *trust.Config) { c.Authorities[0].Subject += "x" }, verify.ReasonWrongIdentity},
		"too long":      {w.until(week), func(c *trust.Config) { c.MaxLifetime = "1d" }, verify.ReasonLifetimeTooLong},
	} {
		expect.Is(t, name, tc.want, reasonIn(t, w.verifier(t, tc.policy, nil).Foresee(parse(t, tc.text), id, cert, w.now)))
	}
}
