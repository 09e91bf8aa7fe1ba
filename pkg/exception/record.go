package exception

import (
	"slices"
	"strings"
)

// fieldsOf are the fields that policies.kyverno.io has for what else is said in an
// annotation.
var fieldsOf = map[string]Path{
	AnnotationReason:     {"spec", "properties", "reason"},
	AnnotationTicket:     {"spec", "properties", "ticket"},
	AnnotationApprovedBy: {"spec", "properties", "approved-by"},
	AnnotationExpiresAt:  {"spec", "expiresAt"},
}

// StatementPath is where a document of a kind says what the annotation of that key says:
// in the field, where the kind has one for it, and in the annotation otherwise.
func StatementPath(kind GroupKind, annotation string) (path Path, isField bool) {
	if path, isField = fieldsOf[annotation]; isField && kind.IsException() && kind.Group == PoliciesGroup {
		return slices.Clone(path), true
	}
	return Path{"metadata", "annotations", annotation}, false
}

// RecordPaths are the places of a document of a kind that belong to the record of
// its review. Some of them mean nothing, and would be believed all the same.
func RecordPaths(kind GroupKind) []Path {
	var paths []Path
	for _, key := range []string{AnnotationRequestedBy, AnnotationApprovedBy, AnnotationPullRequest, AnnotationMergeCommit, AnnotationRecordedFrom} {
		paths = append(paths, Path{"metadata", "annotations", key})
	}
	if kind.IsException() && kind.Group == PoliciesGroup {
		for _, key := range []string{"approved-by", "requested-by", "pull-request", "merge-commit"} {
			paths = append(paths, Path{"spec", "properties", key})
		}
	}
	return paths
}

// Approvals are who approved a document, by the record in it. Until it is verified
// that is the document's own word.
type Approvals struct {
	From  string   // where the record is from; "" where there is none
	Names []string // logins, or "Name <address>"; each person once, in the record's order
}

// Approvals reads who approved the document. Names without a record of where they
// are from are nobody's.
func (d *Document) Approvals() Approvals {
	a := Approvals{From: d.Annotation(AnnotationRecordedFrom)}
	if a.From == "" {
		return a
	}
	met := map[string]bool{}
	said, _ := StatementPath(d.GroupKind(), AnnotationApprovedBy)
	for name := range strings.SplitSeq(d.Text(said...), ",") {
		name = strings.TrimSpace(name)
		if who := person(name); who != "" && !met[who] {
			met[who] = true
			a.Names = append(a.Names, name)
		}
	}
	return a
}

// Has reports whether a person is among those who approved. Neither a forge nor a
// mail server tells the case of letters apart, and whoever has an address chooses the
// name before it.
func (a Approvals) Has(name string) bool {
	for _, one := range a.Names {
		if person(one) == person(name) {
			return true
		}
	}
	return false
}

// person is what tells people apart: the address, or the login.
func person(name string) string {
	if _, address, has := strings.Cut(name, "<"); has {
		name = strings.TrimSuffix(address, ">")
	}
	return strings.ToLower(strings.TrimSpace(name))
}
