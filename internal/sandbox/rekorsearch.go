package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/pki"
	"github.com/sigstore/rekor/pkg/util"
)

// serveSearch finds entry IDs by artifact digest, public key or email: any, or all with and.
func (l *rekor) serveSearch(w http.ResponseWriter, r *http.Request) {
	var query models.SearchIndex
	if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
		rekorError(w, http.StatusBadRequest, "parsing body: "+err.Error())
		return
	}
	if err := query.Validate(strfmt.Default); err != nil {
		rekorError(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	keys, err := searchKeys(&query)
	if err != nil {
		rekorError(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, l.search(keys, query.Operator == models.SearchIndexOperatorAnd))
}

// searchKeys returns the index keys of a query.
func searchKeys(query *models.SearchIndex) ([]string, error) {
	var keys []string
	if query.Hash != "" {
		keys = append(keys, strings.ToLower(util.PrefixSHA(query.Hash)))
	}
	if query.PublicKey != nil {
		format := ""
		if query.PublicKey.Format != nil {
			format = *query.PublicKey.Format
		}
		factory, err := pki.NewArtifactFactory(pki.Format(format))
		if err != nil {
			return nil, fmt.Errorf("public key format: %w", err)
		}
		key, err := factory.NewPublicKey(bytes.NewReader(query.PublicKey.Content))
		if err != nil {
			return nil, fmt.Errorf("parse public key: %w", err)
		}
		canonical, err := key.CanonicalValue()
		if err != nil {
			return nil, fmt.Errorf("canonicalize public key: %w", err)
		}
		digest := sha256.Sum256(canonical)
		keys = append(keys, hex.EncodeToString(digest[:]))
	}
	if query.Email != "" {
		keys = append(keys, strings.ToLower(query.Email.String()))
	}
	return keys, nil
}

// search returns each matching entry once, in the log's order.
func (l *rekor) search(keys []string, every bool) []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	hits := map[string]int{}
	for _, key := range keys {
		for _, id := range slices.Compact(slices.Clone(l.index[key])) {
			hits[id]++
		}
	}
	found := []string{}
	for _, leaf := range l.leaves {
		id := l.entryID(leaf.hash)
		if n := hits[id]; n > 0 && (!every || n == len(keys)) {
			found = append(found, id)
		}
	}
	return found
}
