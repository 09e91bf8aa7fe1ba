package verify

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/attacks"
)

// TestExplainCertified: for a certificate of the team's own authority, the output names the
// authority and no OIDC issuer.
func TestExplainCertified(t *testing.T) {
	for _, c := range corpus(t) {
		if c.Name != "verified/certified-a-mailbox" {
			continue
		}
		out, _ := judge(t, c, "--explain")
		text := string(out)
		if c.Expect[0] != attacks.Verified || !strings.Contains(text, `certified by  "CN=Acme root", which the trust policy names`) || strings.Contains(text, "issuer ") {
			t.Errorf("%s", text)
		}
		return
	}
	t.Fatal("the corpus has no such case")
}
