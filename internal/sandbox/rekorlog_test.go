package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sigstore/rekor/pkg/util"
	"github.com/sigstore/rekor/pkg/verify"

	"github.com/polex-dev/polex/internal/sandbox"
)

// Every pair of sizes is consistent, and what makes no sense is refused.
func TestConsistency(t *testing.T) {
	const size = 9
	s := start(t, sandbox.Options{})
	c, _ := rekorClient(t, s)
	keys := newSigner(t)
	var heads [size + 1]util.SignedCheckpoint
	var treeID string
	for n := 1; n <= size; n++ {
		proposed, err := keys.propose(t, fmt.Sprint(n))
		if err != nil {
			t.Fatal(err)
		}
		created, err := upload(t, c, proposed)
		if err != nil {
			t.Fatal(err)
		}
		checkpoint := *created.Payload[created.ETag].Verification.InclusionProof.Checkpoint
		if err := heads[n].UnmarshalText([]byte(checkpoint)); err != nil {
			t.Fatal(err)
		}
		treeID = strings.TrimPrefix(heads[n].Origin, "polex-sandbox - ")
	}
	for first := 1; first <= size; first++ {
		for second := first; second <= size; second++ {
			if err := verify.ProveConsistency(t.Context(), c, &heads[first], &heads[second], treeID); err != nil {
				t.Errorf("%d to %d: %v", first, second, err)
			}
		}
	}
	for query, want := range map[string]int{
		"firstSize=5&lastSize=4":          http.StatusBadRequest,
		"firstSize=1&lastSize=10":         http.StatusBadRequest,
		"firstSize=1&lastSize=2&treeID=3": http.StatusBadRequest,
		"firstSize=0&lastSize=2":          http.StatusUnprocessableEntity,
		"firstSize=1":                     http.StatusUnprocessableEntity,
		"lastSize=2":                      http.StatusOK,
	} {
		if got, _, _ := send(t, http.MethodGet, s.RekorURL+"/api/v1/log/proof?"+query, nil, nil); got != want {
			t.Errorf("%s: status %d, want %d", query, got, want)
		}
	}
}
