package exception

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// The API groups of PolicyException, and its kind.
const (
	KyvernoGroup  = "kyverno.io"
	PoliciesGroup = "policies.kyverno.io"
	Kind          = "PolicyException"
)

// GroupKind is a kind in all versions of its API group.
type GroupKind struct {
	Group string
	Kind  string
}

// String returns "Kind.group", as kubectl writes it.
//
//go:noinline
func (gk GroupKind) String() string {
	if gk.Group == "" {
		return gk.Kind
	}
	return gk.Kind + "." + gk.Group
}

// IsException reports whether the kind is PolicyException of either group.
func (gk GroupKind) IsException() bool {
	return gk.Kind == Kind && (gk.Group == KyvernoGroup || gk.Group == PoliciesGroup)
}

// Identity identifies an object in the API server. Two versions of a kind are the same object.
type Identity struct {
	GroupKind
	Namespace string
	Name      string
}

// String returns "Kind.group namespace/name".
//
//go:noinline
func (id Identity) String() string {
	name := id.Name
	if id.Namespace != "" {
		name = id.Namespace + "/" + name
	}
	return id.GroupKind.String() + " " + name
}

// IdentityKey is a digest of an [Identity], with 16 bytes. Finding two identities with the same key
// takes 2^64 tries.
type IdentityKey [16]byte

// Key returns the identity's key.
func (id Identity) Key() IdentityKey {
	var text []byte
	for _, part := range []string{id.Group, id.Kind, id.Namespace, id.Name} {
		text = binary.AppendUvarint(text, uint64(len(part))) // separates the parts
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return IdentityKey(sum[:16])
}

// APIVersion returns the document's apiVersion, "group/version".
func (d *Document) APIVersion() string { return d.Text("apiVersion") }

// Version returns the version part of the document's apiVersion.
func (d *Document) Version() string {
	_, version := splitAPIVersion(d.APIVersion())
	return version
}

// GroupKind returns the document's kind and the group of its apiVersion.
func (d *Document) GroupKind() GroupKind {
	group, _ := splitAPIVersion(d.APIVersion())
	return GroupKind{Group: group, Kind: d.Text("kind")}
}

// Identity returns the identity of the document in the API server.
func (d *Document) Identity() Identity {
	return Identity{GroupKind: d.GroupKind(), Namespace: d.Text("metadata", "namespace"),
		Name: d.Text("metadata", "name")}
}

// IsList reports whether Kubernetes tools read the document as a list of other documents: it has
// the key "items" at its top.
func (d *Document) IsList() bool { return d.root.entry("items") != nil }

// Annotation returns the value of an annotation, or "" if it is not set.
func (d *Document) Annotation(key string) string { return d.Text("metadata", "annotations", key) }

func splitAPIVersion(apiVersion string) (group, version string) {
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		return "", group
	}
	return group, version
}

// LooksLikeException reports whether the kind contains the kind of exceptions, in any letter case
// and any API group.
func (gk GroupKind) LooksLikeException() bool {
	return strings.Contains(strings.ToLower(gk.Kind), strings.ToLower(Kind))
}

// LooksLikeList reports whether the kind ends with "List", in any letter case.
func (gk GroupKind) LooksLikeList() bool { return strings.HasSuffix(strings.ToLower(gk.Kind), "list") }

// Identities finds duplicate objects in a run. It uses some hundred bytes for each object. Two
// documents with the same identity must not both be accepted, since the applied one would be
// random. The zero value is empty. Only one goroutine may use it at a time.
type Identities struct {
	first map[IdentityKey]Position
}

// Add adds a document. If its object was added before, it returns the position of the first
// document and true.
func (ids *Identities) Add(d *Document) (first Position, met bool) {
	id := d.Identity().Key()
	if first, met = ids.first[id]; met {
		return first, true
	}
	if ids.first == nil {
		ids.first = map[IdentityKey]Position{}
	}
	ids.first[id] = d.Position()
	return Position{}, false
}

// IsQualifiedName reports whether a text has the form of a label's key, [prefix/]name. Selectors
// and named conditions use this form too.
func IsQualifiedName(text string) bool { return len(content.IsLabelKey(text)) == 0 }

// IsLabelValue reports whether a text is a valid value of a label; "" is valid.
func IsLabelValue(text string) bool { return len(content.IsLabelValue(text)) == 0 }

// Shortened shortens a value for a message, to 80 characters.
func Shortened(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
