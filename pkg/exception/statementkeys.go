package exception

import (
	"maps"
	"slices"
)

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
