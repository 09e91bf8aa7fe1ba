package sandbox

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"

	"github.com/sigstore/rekor/pkg/generated/models"
)

func (l *rekor) serveInfo(w http.ResponseWriter, r *http.Request) {
	l.mu.RLock()
	root, checkpoint, err := l.checkpoint(r.Context())
	size := int64(len(l.leaves))
	l.mu.RUnlock()
	if err != nil {
		rekorError(w, http.StatusInternalServerError, err.Error())
		return
	}
	rootHash, treeID := hex.EncodeToString(root), strconv.FormatInt(l.treeID, 10)
	writeJSON(w, http.StatusOK, models.LogInfo{
		InactiveShards: []*models.InactiveShardLogInfo{},
		RootHash:       &rootHash,
		SignedTreeHead: &checkpoint,
		TreeID:         &treeID,
		TreeSize:       &size,
	})
}

// serveProof proves that the log at lastSize begins with what it was at firstSize, which is 1 when not given.
func (l *rekor) serveProof(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	first, last := uint64(1), uint64(0)
	for name, size := range map[string]*uint64{"firstSize": &first, "lastSize": &last} {
		if !query.Has(name) && name == "firstSize" {
			continue
		}
		n, err := strconv.ParseUint(query.Get(name), 10, 63)
		if err != nil || n == 0 {
			rekorError(w, http.StatusUnprocessableEntity, name+" in query must be a number above 0")
			return
		}
		*size = n
	}
	if first > last {
		rekorError(w, http.StatusBadRequest, fmt.Sprintf("firstSize(%d) must be less than lastSize(%d)", first, last))
		return
	}
	if tree := query.Get("treeID"); tree != "" && tree != strconv.FormatInt(l.treeID, 10) {
		rekorError(w, http.StatusBadRequest, "the log has no such tree")
		return
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if size := l.tree.size(); last > size {
		rekorError(w, http.StatusBadRequest,
			fmt.Sprintf("the tree size requested(%d) was greater than what is currently observable(%d)", last, size))
		return
	}
	hashes, err := l.tree.consistency(first, last)
	if err != nil {
		rekorError(w, http.StatusInternalServerError, err.Error())
		return
	}
	root, err := l.tree.root(l.tree.size())
	if err != nil {
		rekorError(w, http.StatusInternalServerError, err.Error())
		return
	}
	rootHash := hex.EncodeToString(root)
	writeJSON(w, http.StatusOK, models.ConsistencyProof{Hashes: hexAll(hashes), RootHash: &rootHash})
}
