package sandbox

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-openapi/runtime"
	"github.com/go-openapi/strfmt"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/transparency-dev/merkle/rfc6962"
)

// errExists means that the log already contains the same entry.
var errExists = errors.New("an equivalent entry already exists in the transparency log")

// serveCreate adds a proposed entry. Rekor's own types parse it and verify its signature.
func (l *rekor) serveCreate(w http.ResponseWriter, r *http.Request) {
	proposed, err := models.UnmarshalProposedEntry(r.Body, runtime.JSONConsumer())
	if err != nil {
		rekorError(w, http.StatusBadRequest, "parsing body: "+err.Error())
		return
	}
	if err := proposed.Validate(strfmt.Default); err != nil {
		rekorError(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	entry, err := types.CreateVersionedEntry(proposed)
	if err != nil {
		rekorError(w, http.StatusBadRequest, fmt.Sprintf("error processing entry: %v", err))
		return
	}
	body, err := types.CanonicalizeEntry(r.Context(), entry)
	if err != nil {
		rekorError(w, http.StatusBadRequest, fmt.Sprintf("error processing entry: %v", err))
		return
	}
	id, logged, err := l.add(r.Context(), body, time.Time{})
	location := r.URL.Path + "/" + id
	switch {
	case errors.Is(err, errExists):
		w.Header().Set("Location", location)
		rekorError(w, http.StatusConflict, fmt.Sprintf("%v with UUID %s", errExists, id))
	case err != nil:
		rekorError(w, http.StatusInternalServerError, err.Error())
	default:
		w.Header().Set("ETag", id)
		w.Header().Set("Location", location)
		writeJSON(w, http.StatusCreated, logged)
	}
}

// add adds the entry to the tree. A zero time means now. With errExists, it also returns the entry's
// ID.
func (l *rekor) add(ctx context.Context, body []byte, integrated time.Time) (string, models.LogEntry, error) {
	hash := rfc6962.DefaultHasher.HashLeaf(body)
	id := l.entryID(hash)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.byHash[hex.EncodeToString(hash)]; ok {
		return id, nil, errExists
	}
	if _, err := l.tree.append(hash); err != nil {
		return "", nil, err
	}
	if integrated.IsZero() {
		integrated = time.Now() // under the lock, so that times follow the log's order
	}
	position := len(l.leaves)
	l.leaves = append(l.leaves, leaf{body: body, hash: hash, integrated: integrated.Unix()})
	l.byHash[hex.EncodeToString(hash)] = position
	logged, err := l.entry(ctx, position)
	return id, logged, err
}

// rekorError writes an error in the format of Rekor's clients.
func rekorError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, models.Error{Code: int64(status), Message: message})
}
