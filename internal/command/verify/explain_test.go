package verify

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/attacks"
)

// TestExplainCertified: of a certificate by one's own authority it is said whose it
// is, and no OIDC issuer.
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
