package sign_test

import (
	"crypto/x509"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/go-openapi/runtime"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

// One certificate serves a batch, so it must be valid at every upload. If it expires before the
// last one, no document is returned.
func TestCertificateEndsHalfWay(t *testing.T) {
	f := start(t)
	s := f.keyless(t, f.config())
	sealed := expect.Value(s.Seal(t.Context(), batch(t, 1), time.Now()))(t)
	read := expect.Value(seal.Read(sealed[0]))(t)
	certificate := expect.Value(x509.ParseCertificate(read.Signatures[0].Certificate))(t)
	const after = 11 // uploads, with the one above
	for _, tc := range []struct {
		name   string
		at     time.Time
		reason string // "" for success
	}{
		{"in its last second", certificate.NotAfter, ""},
		{"a second too late", certificate.NotAfter.Add(time.Second), verify.ReasonCertificateNotValid},
		{"before it began", certificate.NotBefore.Add(-time.Second), verify.ReasonCertificateNotValid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.wire.mu.Lock()
			f.wire.seen = nil
			f.wire.mu.Unlock()
			late := func(server string, r *http.Request) bool {
				return isUpload(server, r) && f.wire.count(uploadRequest) >= after
			}
			f.wire.meddle(only(late, f.loggedAt(t, tc.at)))
			out, err := s.Seal(t.Context(), batch(t, 100), time.Now())
			if tc.reason == "" {
				if err != nil || len(out) != 100 {
					t.Fatalf("Seal: %d documents, %v", len(out), err)
				}
				return
			}
			refused(out, err)(t, tc.reason, "does not verify, and is not written", "the certificate was valid from")
			if n := f.wire.count(uploadRequest); n >= 100 {
				t.Errorf("%d uploads, though the certificate ended after %d", n, after)
			}
		})
	}
}

// loggedAt logs an entry with another time.
func (f *fixture) loggedAt(t *testing.T, at time.Time) hook {
	logged := func(r *http.Request) (*models.LogEntryAnon, error) {
		proposed, err := models.UnmarshalProposedEntry(r.Body, runtime.JSONConsumer())
		if err != nil {
			return nil, err
		}
		entry, err := types.CreateVersionedEntry(proposed)
		if err != nil {
			return nil, err
		}
		body, err := types.CanonicalizeEntry(r.Context(), entry)
		if err != nil {
			return nil, err
		}
		return f.ForgeEntry(r.Context(), body, at)
	}
	return func(_ string, _ http.Handler, w http.ResponseWriter, r *http.Request) {
		entry, err := logged(r)
		if err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"entry": entry})
	}
}
