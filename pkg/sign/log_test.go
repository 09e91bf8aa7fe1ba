package sign_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
)

func TestSealLogUnreachable(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	f := shared(t)
	s := f.keyless(t, sign.Config{RekorURL: gone.URL, Root: f.root})
	refused(s.Seal(t.Context(), batch(t, 2), time.Now()))(t, "", "log "+gone.URL, "refused")
}

// somebodyElses logs the same message with another identity before the document is signed, and
// returns the index of the entry.
func (f *fixture) somebodyElses(t *testing.T, doc *exception.Document, now time.Time) int64 {
	t.Helper()
	token := f.token(t, sandbox.Identity{Repository: "mallory/fork"})
	mallory := expect.Value(sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, now))(t)
	theirs := expect.Value(mallory.Seal(t.Context(), []*exception.Document{doc}, now))(t)
	return expect.Value(seal.Read(theirs[0]))(t).Signatures[0].Bundle.Payload.LogIndex
}

// Attack 97: another identity has logged the same message before. The signature must have the entry
// of its own upload.
func TestSealPoisonedLog(t *testing.T) {
	f := start(t)
	now := time.Now()
	doc := batch(t, 1)[0]
	theirs := f.somebodyElses(t, doc, now)
	sealed := expect.Value(f.keyless(t, f.config()).Seal(t.Context(), []*exception.Document{doc}, now))(t)
	opened := mustVerify(t, f.policy(t), sealed)
	expect.Is(t, "log index of its own upload", theirs+1, opened[0].Signatures()[0].LogIndex)
	expect.Is(t, "searches in the log's index", 0, f.wire.count(searchRequest))
	expect.Is(t, "entries fetched", 0, f.wire.count("rekor GET"))
}
