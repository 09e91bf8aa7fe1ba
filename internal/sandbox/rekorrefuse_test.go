package sandbox_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/sigstore/rekor/pkg/generated/client/entries"
	"github.com/sigstore/rekor/pkg/generated/models"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/must"
)

func TestDuplicateUpload(t *testing.T) {
	s := start(t, sandbox.Options{})
	c, _ := rekorClient(t, s)
	proposed, err := newSigner(t).propose(t, "once")
	if err != nil {
		t.Fatal(err)
	}
	created := must.Get(upload(t, c, proposed))(t)
	_, err = upload(t, c, proposed)
	var conflict *entries.CreateLogEntryConflict
	if !errors.As(err, &conflict) {
		t.Fatalf("second upload: %v, want a conflict", err)
	}
	if got, want := conflict.Location.String(), "/api/v1/log/entries/"+created.ETag; got != want {
		t.Errorf("Location %q, want %q", got, want)
	}
}

func TestBadUploads(t *testing.T) {
	s := start(t, sandbox.Options{})
	keys := newSigner(t)
	good := must.Get(keys.propose(t, "good"))(t)
	encoded := must.Get(json.Marshal(good))(t)
	replace := func(old, new string) []byte {
		if !bytes.Contains(encoded, []byte(old)) {
			t.Fatalf("entry has no %q", old)
		}
		return bytes.Replace(encoded, []byte(old), []byte(new), 1)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte("good")))
	for _, tc := range []struct {
		name   string
		body   []byte
		status int
	}{
		{"signature of another text", replace(digest, fmt.Sprintf("%x", sha256.Sum256([]byte("bad")))), http.StatusBadRequest},
		{"unknown kind", replace(`"kind":"hashedrekord"`, `"kind":"nonsense"`), http.StatusBadRequest},
		{"unknown version", replace(`"apiVersion":"0.0.1"`, `"apiVersion":"9.9.9"`), http.StatusBadRequest},
		{"not JSON", []byte("{"), http.StatusBadRequest},
		{"nothing", nil, http.StatusBadRequest},
		{"too long", bytes.Repeat([]byte(" "), 1<<20+1), http.StatusBadRequest},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, _, answer := send(t, http.MethodPost, s.RekorURL+"/api/v1/log/entries",
				http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(tc.body))
			var refused models.Error
			if err := json.Unmarshal(answer, &refused); err != nil {
				t.Fatalf("answer %q: %v", answer, err)
			}
			if status != tc.status || refused.Code != int64(tc.status) || refused.Message == "" {
				t.Errorf("status %d, %+v; want %d with a message", status, refused, tc.status)
			}
		})
	}
	c, _ := rekorClient(t, s)
	if created, err := upload(t, c, good); err != nil || *created.Payload[created.ETag].LogIndex != 0 {
		t.Errorf("something was logged before: %v, %v", created, err)
	}
	_, _, key := send(t, http.MethodGet, s.RekorURL+"/api/v1/log/publicKey", nil, nil)
	if block, _ := pem.Decode(key); block == nil {
		t.Errorf("public key is not PEM: %q", key)
	}
}
