package exception

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
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

// MaxRenewals is the maximum number of renewals in a row.
const MaxRenewals = 998

// Renewal names the exception that another one renews. The zero value is for an exception that
// renews nothing.
type Renewal struct {
	Name   string // of the predecessor, in the same group and namespace
	Digest string // "sha256:" and the digest of its signed message, in hex
	Number int    // of renewals in a row, this one included
}

var renewsForm = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]{0,252})@(sha256:[0-9a-f]{64})$`)

// Renewal returns the predecessor that an exception states. It returns an error if one of the two
// annotations is missing or has an invalid form.
func (e *Exception) Renewal() (Renewal, error) {
	if e.Renews.Text == "" && e.RenewalNumber.Text == "" {
		return Renewal{}, nil
	}
	parts := renewsForm.FindStringSubmatch(e.Renews.Text)
	if parts == nil {
		return Renewal{}, fmt.Errorf("%q does not name a predecessor as name@sha256:digest", Shortened(e.Renews.Text))
	}
	number, err := strconv.Atoi(e.RenewalNumber.Text)
	if err != nil || number < 1 || number > MaxRenewals || strconv.Itoa(number) != e.RenewalNumber.Text {
		return Renewal{}, fmt.Errorf("%q is not a number of renewals from 1 to %d",
			Shortened(e.RenewalNumber.Text), MaxRenewals)
	}
	return Renewal{Name: parts[1], Digest: parts[2], Number: number}, nil
}

// StatementKeys are a team's own keys for statements, by the name of the statement: reason, ticket or owner.
// They do not affect trust.
type StatementKeys map[string][]string

// Fill fills the statements of an exception from a team's own keys in its document. polex's own key
// takes precedence, even with a value that is not text. Of several own keys, the first one with a
// text counts.
func (k StatementKeys) Fill(e *Exception, d *Document) {
	for name, statement := range map[string]*Statement{"reason": &e.Reason, "ticket": &e.Ticket, "owner": &e.Owner} {
		for _, key := range k[name] {
			for _, path := range KeyPaths(d.GroupKind(), key) {
				if other := d.Statement(path...); statement.Text == "" && statement.Other == "" && other.Text != "" {
					*statement = other
				}
			}
		}
	}
}

// All returns the keys of all statements, in order.
func (k StatementKeys) All() []string {
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(k))...)))
}

// KeyPaths returns the paths at which a document of a kind can have a team's own key.
func KeyPaths(kind GroupKind, key string) []Path {
	paths := []Path{{"metadata", "annotations", key}, {"metadata", "labels", key}}
	if kind.IsException() && kind.Group == PoliciesGroup {
		paths = append(paths, Path{"spec", "properties", key})
	}
	return paths
}

// StatementNames lists the statements that a policy can require of an exception.
func StatementNames() []string { return []string{"reason", "ticket", "owner", "category"} }
