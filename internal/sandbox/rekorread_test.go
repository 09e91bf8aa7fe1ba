package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	generated "github.com/sigstore/rekor/pkg/generated/client"
	"github.com/sigstore/rekor/pkg/generated/client/entries"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

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
