package sandbox

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/transparency-dev/merkle/rfc6962"
)

func (l *rekor) serveByID(w http.ResponseWriter, r *http.Request) {
	position, found, err := l.find(r.PathValue("id"))
	if err != nil {
		rekorError(w, http.StatusBadRequest, err.Error())
		return
	}
	l.answerEntry(w, r, position, found)
}

func (l *rekor) serveByIndex(w http.ResponseWriter, r *http.Request) {
	index, err := strconv.Atoi(r.URL.Query().Get("logIndex"))
	if err != nil || index < 0 {
		rekorError(w, http.StatusUnprocessableEntity, "logIndex in query must be a number that is not negative")
		return
	}
	l.mu.RLock()
	found := index < len(l.leaves)
	l.mu.RUnlock()
	l.answerEntry(w, r, index, found)
}

func (l *rekor) answerEntry(w http.ResponseWriter, r *http.Request, position int, found bool) {
	if !found {
		rekorError(w, http.StatusNotFound, http.StatusText(http.StatusNotFound))
		return
	}
	l.mu.RLock()
	entry, err := l.entry(r.Context(), position)
	l.mu.RUnlock()
	if err != nil {
		rekorError(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, entry)
}

// entryIDForm matches an entry ID: the tree, which older clients omit, and the leaf hash.
var entryIDForm = regexp.MustCompile(`^([0-9a-f]{16})?([0-9a-f]{64})$`)

// find returns the position of an entry ID or a leaf hash. It does not find IDs of other trees.
func (l *rekor) find(id string) (position int, found bool, err error) {
	parts := entryIDForm.FindStringSubmatch(strings.ToLower(id))
	if parts == nil {
		return 0, false, fmt.Errorf("entry ID %q: expected 64 or 80 hexadecimal digits", id)
	}
	tree, hash := parts[1], parts[2]
	if tree != "" && tree != fmt.Sprintf("%016x", l.treeID) {
		return 0, false, nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	position, found = l.byHash[hash]
	return position, found, nil
}

// serveRetrieve returns the existing entries of a query and ignores the others.
func (l *rekor) serveRetrieve(w http.ResponseWriter, r *http.Request) {
	var query models.SearchLogQuery
	if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
		rekorError(w, http.StatusBadRequest, "parsing body: "+err.Error())
		return
	}
	if err := query.Validate(strfmt.Default); err != nil {
		rekorError(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	const limit = 10
	if len(query.EntryUUIDs)+len(query.LogIndexes)+len(query.Entries()) > limit {
		rekorError(w, http.StatusUnprocessableEntity, fmt.Sprintf("more than max allowed %d entries in request", limit))
		return
	}
	positions, err := l.match(r.Context(), &query)
	if err != nil {
		rekorError(w, http.StatusBadRequest, err.Error())
		return
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	found := []models.LogEntry{}
	for _, position := range positions {
		entry, err := l.entry(r.Context(), position)
		if err != nil {
			rekorError(w, http.StatusInternalServerError, err.Error())
			return
		}
		found = append(found, entry)
	}
	writeJSON(w, http.StatusOK, found)
}

func (l *rekor) match(ctx context.Context, query *models.SearchLogQuery) ([]int, error) {
	var positions []int
	ids := query.EntryUUIDs
	for _, proposed := range query.Entries() {
		entry, err := types.UnmarshalEntry(proposed)
		if err != nil {
			return nil, err
		}
		body, err := types.CanonicalizeEntry(ctx, entry)
		if err != nil {
			return nil, err
		}
		ids = append(ids, hex.EncodeToString(rfc6962.DefaultHasher.HashLeaf(body)))
	}
	for _, id := range ids {
		position, ok, err := l.find(id)
		if err != nil {
			return nil, err
		}
		if ok {
			positions = append(positions, position)
		}
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, index := range query.LogIndexes {
		if index != nil && *index >= 0 && *index < int64(len(l.leaves)) {
			positions = append(positions, int(*index))
		}
	}
	return positions, nil
}
