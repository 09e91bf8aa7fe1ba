package exception

import "slices"

// StatementKeys are a team's own keys for statements. They do not affect trust.
type StatementKeys struct {
	Reason []string `json:"reason" format:"key" default:"none" doc:"keys of your own that state the reason, as polex.dev/reason does"`
	Ticket []string `json:"ticket" format:"key" default:"none" doc:"keys of your own that state the ticket, as polex.dev/ticket does"`
	Owner  []string `json:"owner" format:"key" default:"none" doc:"keys of your own that state the owner, as polex.dev/owner does"`
}

// Fill fills the statements of an exception from a team's own keys in its document. polex's own key
// takes precedence, even with a value that is not text. Of several own keys, the first one with a
// text counts.
func (k StatementKeys) Fill(e *Exception, d *Document) {
	for statement, keys := range map[*Statement][]string{&e.Reason: k.Reason, &e.Ticket: k.Ticket, &e.Owner: k.Owner} {
		for _, key := range keys {
			for _, path := range KeyPaths(d.GroupKind(), key) {
				if other := d.Statement(path...); statement.Text == "" && statement.Other == "" && other.Text != "" {
					*statement = other
				}
			}
		}
	}
}

// All returns the keys of all statements.
func (k StatementKeys) All() []string { return slices.Concat(k.Reason, k.Ticket, k.Owner) }

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
