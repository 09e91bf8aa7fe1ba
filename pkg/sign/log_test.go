package sign_test

import (
	"net/http/httptest"
	"strings"
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
	out, err := s.Seal(t.Context(), batch(t, 2), time.Now())
	if out != nil || err == nil || !strings.Contains(err.Error(), "log "+gone.URL) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Seal: %d documents, %v, want an error that names the address", len(out), err)
	}
}

// somebodyElses logs the same message with another identity before the document is signed, and
// returns the index of the entry.
func (f *fixture) somebodyElses(t *testing.T, doc *exception.Document, now time.Time) int64 {
	t.Helper()
	token := f.token(t, sandbox.Identity{Repository: "mallory/fork"})
	mallory := expect.Value(sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, now))(t)
	theirs := expect.Value(mallory.Seal(t.Context(), []*exception.Document{doc}, now))(t)
	return logIndex(t, theirs[0])
}

func logIndex(t *testing.T, doc *exception.Document) int64 {
	t.Helper()
	s := expect.Value(seal.Read(doc))(t)
	return s.Signatures[0].Bundle.Payload.LogIndex
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
	if got, want := opened[0].Signatures()[0].LogIndex, theirs+1; got != want {
		t.Errorf("log index %d, want that of its own upload, %d", got, want)
	}
	if n := f.wire.count(searchRequest); n != 0 {
		t.Errorf("the log's index was searched %d times", n)
	}
	if n := f.wire.count("rekor GET"); n != 0 {
		t.Errorf("the log was asked for entries %d times", n)
	}
}
