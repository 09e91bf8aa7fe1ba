package verify_test

import (
	"errors"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// An expired document is verified as of its expiry. A document that is invalid for another reason
// is invalid then too.
func TestPredecessor(t *testing.T) {
	w := inWorld(t)
	doc := w.sealed(t, w.until(week), set{})
	verified, err := w.verifier(t, nil, nil).Verify(doc, w.now)
	if err != nil {
		t.Fatal(err)
	}
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
			var rejected *verify.Rejected
			switch {
			case tc.want == "":
				if err != nil || message.Identity() != doc.Identity() || message.Annotation("cosign.sigstore.dev/message") != "" {
					t.Errorf("%v, %v", message, err)
				}
			case !errors.As(err, &rejected) || rejected.Reason != tc.want || message != nil:
				t.Errorf("%v, %v, want %s", message, err, tc.want)
			}
		})
	}
}
