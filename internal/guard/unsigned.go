package guard

import (
	"reflect"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// The changes that need no signature, because no signature covers them.

const statusSubresource = "status"

// unsigned returns the reason for which an update needs no signature, or "" if it needs one.
//
// An object that is being deleted waits for its finalizers. Controllers and the garbage collector
// remove them one by one. No other change is allowed, because Kyverno applies the exception until
// it is gone. A controller writes the status, which no signature covers.
func (c change) unsigned() (reason string, err error) {
	old, doc := c.old, c.doc
	switch {
	case c.subresource != "" && c.subresource != statusSubresource:
		return "", refuse(ReasonSubresourceNotAllowed, "%q would change unsigned fields of the object", c.subresource)
	case old == nil && c.subresource == "":
		return "", nil // the stored object cannot be read, so the new one is verified
	case old == nil:
		return "", c.unreadable
	case c.subresource == statusSubresource:
		if differ(old, doc, statusSubresource) {
			return "", refuse(ReasonSubresourceNotAllowed, "it changes more than the status")
		}
		return ReasonStatus, nil
	}
	if old.Text("metadata", "deletionTimestamp") == "" {
		return "", nil
	}
	// An update that removes none could repeat without end, and each makes a removal conflict.
	more := func(f any) bool { return !slices.Contains(finalizers(old), f) }
	less := len(finalizers(doc)) < len(finalizers(old)) && !slices.ContainsFunc(finalizers(doc), more)
	if differ(old, doc, "finalizers") || !less {
		return "", refuse(ReasonBeingDeleted, "it is being deleted, and only its finalizers may be removed")
	}
	return ReasonReleased, nil
}

// unchanged reports whether an update changes nothing. A migration to another storage version makes
// such updates. The update verifies nothing: the controller still reports an invalid object.
//
// The request shows both states in one version. If another version was signed, this version has to
// show all signed fields. Otherwise the update would delete the fields that it does not show.
func (c change) unchanged(allowed seal.Added) bool {
	doc := c.doc
	if c.old == nil || c.subresource != "" || differ(c.old, doc, "") {
		return false
	}
	message, _ := messageOf(doc)
	if message == nil || message.GroupKind() != doc.GroupKind() || message.Version() == doc.Version() {
		return true // there is no signed field to lose
	}
	const apiVersion, both = "apiVersion", 2
	differences := allowed.Compare(doc, message, both)
	return len(differences) == 1 && differences[0].Path.String() == apiVersion
}

// written are the metadata fields that the API server writes with every change.
var written = []string{"resourceVersion", "generation", "managedFields"}

// differ reports whether two states of an object differ. It ignores the fields that the API server
// writes and, unless it is "", one field: the status or a field of the metadata.
func differ(old, changed *exception.Document, but string) bool {
	return !reflect.DeepEqual(unwritten(old, but), unwritten(changed, but))
}

// unwritten returns an object without the fields that the API server writes and without one field: the
// status or a field of the metadata.
func unwritten(doc *exception.Document, but string) map[string]any {
	tree := doc.Object()
	metadata, _ := tree["metadata"].(map[string]any)
	for _, field := range written {
		delete(metadata, field)
	}
	if but == statusSubresource {
		delete(tree, but)
	} else {
		delete(metadata, but)
	}
	return tree
}

func finalizers(doc *exception.Document) []any {
	value, _ := doc.Lookup("metadata", "finalizers")
	list, _ := value.([]any)
	return list
}
