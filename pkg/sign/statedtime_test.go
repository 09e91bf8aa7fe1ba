package sign_test

import (
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
)

// TestStatesTime: the signature of a key states its signing time, from which the trust policy's
// maximum lifetime counts. A certificate with a validity of minutes binds the time itself, and
// nothing is added.
func TestStatesTime(t *testing.T) {
	f := shared(t)
	keys := generated(t)
	now := time.Now()
	byKey := expect.Value(sign.WithKey(f.config(), keys.PrivateBytes, []byte(keyPassword)))(t)
	policy := expect.Value(trust.New(trust.Config{MaxLifetime: "90d", Kinds: []string{"*"},
		Authorities: []trust.AuthorityConfig{{Name: "team", Key: string(keys.PublicBytes)}}}, f.root))(t)
	sealed := expect.Value(byKey.Seal(t.Context(), batch(t, 2), now))(t)
	for _, opened := range mustVerify(t, policy, sealed) {
		got := opened.Message().Annotation(exception.AnnotationSignedAt)
		expect.Is(t, "stated time", now.UTC().Format(time.RFC3339), got)
	}
	token := f.token(t, sandbox.Identity{})
	keyless := expect.Value(sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, now))(t)
	sealed = expect.Value(keyless.Seal(t.Context(), batch(t, 1), now))(t)
	expect.Is(t, "beside a certificate of minutes it states", "", sealed[0].Annotation(exception.AnnotationSignedAt))
}
