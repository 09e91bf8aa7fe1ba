package guard

import (
	"reflect"
	"slices"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// What may change without a signature, since no seal covers it.

const statusSubresource = "status"

// unsealed returns the reason for which an update needs no seal, or "" when it
// needs one.
//
// An object that is being deleted waits for its finalizers, which controllers and
// the garbage collector take away one by one. It may lose them and change in nothing
// else: an exception counts until it is gone. The status is what a controller
// says of an object, and is not covered by its seal.
func (c change) unsealed() (reason string, err error) {
	old, doc := c.old, c.doc
	switch {
	case c.subresource != "" && c.subresource != statusSubresource:
		return "", refuse(ReasonSubresourceNotAllowed, "%q changes the object beside what was signed", c.subresource)
	case old == nil && c.subresource == "":
		return "", nil // it was stored in other times; nothing is known of it
	case old == nil:
		return "", c.unreadable
	case c.subresource == statusSubresource:
		if differ(old, doc, statusSubresource) {
			return "", refuse(ReasonSubresourceNotAllowed, "more than its status changes")
		}
		return ReasonStatus, nil
	}
	if old.Text("metadata", "deletionTimestamp") == "" {
		return "", nil
	}
	if differ(old, doc, "finalizers") || !subset(finalizers(doc), finalizers(old)) {
		return "", refuse(ReasonBeingDeleted, "it is being deleted, and only its finalizers may go")
	}
	return ReasonReleased, nil
}

// unchanged reports whether an update leaves an object as it is, as a migration to
// another storage version does. It blesses nothing: what is wrong with the object is
// found where it is stored.
//
// Both states are shown in the version of the request. Where that is not the one that
// was signed, it has to show all that was: what it did not show would be gone.
func (c change) unchanged(allowed seal.Added) bool {
	doc := c.doc
	if c.old == nil || c.subresource != "" || differ(c.old, doc, "") {
		return false
	}
	opened, err := seal.Read(doc)
	if err != nil {
		return true // nothing was signed that could go
	}
	message, err := seal.ParseMessage(opened.Message)
	if err != nil || message.GroupKind() != doc.GroupKind() || message.Version() == doc.Version() {
		return true
	}
	const apiVersion, both = "apiVersion", 2
	found := allowed.Compare(doc, message, both)
	return len(found) == 1 && found[0].Path.String() == apiVersion
}

// written are the fields of metadata that the API server writes with every
// change.
var written = []string{"resourceVersion", "generation", "managedFields"}

// differ reports whether two states of an object differ in anything but what the
// API server writes and one field, of the object or of its metadata, if it is not "".
func differ(old, changed *exception.Document, but string) bool {
	return !reflect.DeepEqual(plain(old, but), plain(changed, but))
}

// plain is an object without what the API server writes and one field, the status or
// one of the metadata.
func plain(doc *exception.Document, but string) map[string]any {
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

func subset(part, whole []any) bool {
	return !slices.ContainsFunc(part, func(item any) bool { return !slices.Contains(whole, item) })
}
