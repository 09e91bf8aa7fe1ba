package sandbox

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
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

// entryIDForm is the form of an entry ID: the tree, which older clients leave out, before the leaf's hash.
var entryIDForm = regexp.MustCompile(`^([0-9a-f]{16})?([0-9a-f]{64})$`)

// find takes an entry ID, or a leaf hash alone. An ID of another tree is not found.
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
