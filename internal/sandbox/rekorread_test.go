package sandbox_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	generated "github.com/sigstore/rekor/pkg/generated/client"
	"github.com/sigstore/rekor/pkg/generated/client/entries"
	"github.com/sigstore/rekor/pkg/generated/client/index"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/pki"
	"github.com/sigstore/rekor/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

func searchTests(t *testing.T, c *generated.Rekor, keys *signer, ids []string) {
	t.Helper()
	format := string(pki.X509)
	digest := func(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }
	all := slices.Sorted(slices.Values(ids))
	key := &models.SearchIndexPublicKey{Format: &format, Content: keys.public}
	for _, tc := range []struct {
		name  string
		query *models.SearchIndex
		want  []string
	}{
		{"hash", &models.SearchIndex{Hash: digest("text 7")}, []string{ids[7]}},
		{"bare hash", &models.SearchIndex{Hash: strings.TrimPrefix(digest("text 7"), "sha256:")}, []string{ids[7]}},
		{"unknown hash", &models.SearchIndex{Hash: digest("nothing")}, []string{}},
		{"key", &models.SearchIndex{PublicKey: key}, all},
		{"unknown key", &models.SearchIndex{PublicKey: &models.SearchIndexPublicKey{Format: &format, Content: newSigner(t).public}}, []string{}},
		{"hash and key", &models.SearchIndex{Hash: digest("text 9"), PublicKey: key, Operator: "and"}, []string{ids[9]}},
		{"hash or key", &models.SearchIndex{Hash: digest("text 9"), PublicKey: key, Operator: "or"}, all},
		{"nothing", &models.SearchIndex{}, []string{}},
	} {
		answer, err := c.Index.SearchIndex(index.NewSearchIndexParamsWithContext(t.Context()).WithQuery(tc.query))
		if err != nil {
			t.Errorf("search by %s: %v", tc.name, err)
			continue
		}
		slices.Sort(answer.Payload)
		if diff := cmp.Diff(tc.want, answer.Payload); diff != "" {
			t.Errorf("search by %s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func readTests(t *testing.T, c *generated.Rekor, verifier signature.Verifier, ids []string, logged []models.LogEntryAnon) {
	t.Helper()
	const some = 31
	id := ids[some]
	check := func(how string, got models.LogEntry, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("get by %s: %v", how, err)
			return
		}
		entry, ok := got[id]
		if !ok {
			t.Errorf("get by %s: answer lacks %s", how, id)
			return
		}
		if diff := cmp.Diff(logged[some].Body, entry.Body); diff != "" {
			t.Errorf("get by %s, body (-want +got):\n%s", how, diff)
		}
		if err := verify.VerifyLogEntry(t.Context(), &entry, verifier); err != nil {
			t.Errorf("get by %s: %v", how, err)
		}
	}
	for how, uuid := range map[string]string{"entry ID": id, "leaf hash": id[16:]} {
		answer, err := c.Entries.GetLogEntryByUUID(entries.NewGetLogEntryByUUIDParamsWithContext(t.Context()).WithEntryUUID(uuid))
		if err != nil {
			t.Errorf("get by %s: %v", how, err)
			continue
		}
		check(how, answer.Payload, nil)
	}
	byIndex, err := c.Entries.GetLogEntryByIndex(entries.NewGetLogEntryByIndexParamsWithContext(t.Context()).WithLogIndex(*logged[some].LogIndex))
	if err != nil {
		t.Fatalf("get by index: %v", err)
	}
	check("index", byIndex.Payload, nil)

	found, err := c.Entries.SearchLogQuery(entries.NewSearchLogQueryParamsWithContext(t.Context()).WithEntry(
		&models.SearchLogQuery{EntryUUIDs: []string{id, strings.Repeat("0", 64)}}))
	if err != nil {
		t.Fatalf("retrieve: %v", err)
	}
	if len(found.Payload) != 1 {
		t.Fatalf("retrieve found %d entries, want the one that exists", len(found.Payload))
	}
	check("retrieve", found.Payload[0], nil)

	var missing *entries.GetLogEntryByUUIDNotFound
	for _, uuid := range []string{strings.Repeat("0", 64), "00000000deadbeef" + id[16:]} {
		_, err := c.Entries.GetLogEntryByUUID(entries.NewGetLogEntryByUUIDParamsWithContext(t.Context()).WithEntryUUID(uuid))
		if !errors.As(err, &missing) {
			t.Errorf("get %s: %v, want not found", uuid, err)
		}
	}
}
