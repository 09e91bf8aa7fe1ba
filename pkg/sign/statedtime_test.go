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
	byKey, err := sign.WithKey(f.config(), keys.PrivateBytes, []byte(keyPassword))
	if err != nil {
		t.Fatal(err)
	}
	policy := expect.Value(trust.New(trust.Config{MaxLifetime: "90d", Kinds: []string{"*"},
		Authorities: []trust.AuthorityConfig{{Name: "team", Key: string(keys.PublicBytes)}}}, f.root))(t)
	sealed := expect.Value(byKey.Seal(t.Context(), batch(t, 2), now))(t)
	for _, opened := range mustVerify(t, policy, sealed) {
		if got, want := opened.Message().Annotation(exception.AnnotationSignedAt), now.UTC().Format(time.RFC3339); got != want {
			t.Errorf("it states %q, want %q", got, want)
		}
	}
	token := f.token(t, sandbox.Identity{})
	keyless := expect.Value(sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, now))(t)
	if sealed, err = keyless.Seal(t.Context(), batch(t, 1), now); err != nil {
		t.Fatal(err)
	}
	expect.Is(t, "beside a certificate of minutes it states", "", sealed[0].Annotation(exception.AnnotationSignedAt))
}
