package exception

import (
	"slices"
	"strings"
)

// fieldsOf lists the fields of policies.kyverno.io that correspond to an annotation.
var fieldsOf = map[string]Path{
	AnnotationReason:     {"spec", "properties", "reason"},
	AnnotationTicket:     {"spec", "properties", "ticket"},
	AnnotationApprovedBy: {"spec", "properties", "approved-by"},
	AnnotationExpiresAt:  {"spec", "expiresAt"},
}

// StatementPath returns the path of a statement in a document of a kind: the field if the kind has
// one for the annotation, otherwise the annotation.
func StatementPath(kind GroupKind, annotation string) (path Path, isField bool) {
	if path, isField = fieldsOf[annotation]; isField && kind.IsException() && kind.Group == PoliciesGroup {
		return slices.Clone(path), true
	}
	return Path{"metadata", "annotations", annotation}, false
}

// RecordPaths returns the paths of the review record in a document of a kind. It includes paths
// that polex does not read, because people would believe them.
func RecordPaths(kind GroupKind) []Path {
	var paths []Path
	for _, key := range []string{AnnotationRequestedBy, AnnotationApprovedBy, AnnotationPullRequest,
		AnnotationMergeCommit, AnnotationRecordedFrom} {
		paths = append(paths, Path{"metadata", "annotations", key})
		if kind.IsException() && kind.Group == PoliciesGroup {
			paths = append(paths, Path{"spec", "properties", strings.TrimPrefix(key, "polex.dev/")})
		}
	}
	return paths
}

// Approvals are the approvers of a document, from its review record. Until the document is
// verified, they are unproven.
type Approvals struct {
	From  string   // the source of the record; "" if there is none
	Names []string // logins, or "Name <address>"; each person once, in the record's order
}

// Approvals returns the approvers in the review record. Names without a source of the record do not
// count.
func (d *Document) Approvals() Approvals {
	a := Approvals{From: d.Annotation(AnnotationRecordedFrom)}
	if a.From == "" {
		return a
	}
	met := map[string]bool{}
	path, _ := StatementPath(d.GroupKind(), AnnotationApprovedBy)
	for name := range strings.SplitSeq(d.Text(path...), ",") {
		name = strings.TrimSpace(name)
		if who := person(name); who != "" && !met[who] {
			met[who] = true
			a.Names = append(a.Names, name)
		}
	}
	return a
}

// Has reports whether a person is one of the approvers. Letter case does not count, as in forges
// and mail servers. For "Name <address>", only the address counts: everybody can choose the name.
func (a Approvals) Has(name string) bool {
	for _, one := range a.Names {
		if person(one) == person(name) {
			return true
		}
	}
	return false
}

// person returns the part of a name that identifies a person: the address, or the login.
func person(name string) string {
	if _, address, has := strings.Cut(name, "<"); has {
		name = strings.TrimSuffix(address, ">")
	}
	return strings.ToLower(strings.TrimSpace(name))
}
