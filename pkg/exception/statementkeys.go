package exception

import "slices"

// StatementKeys are a team's own keys for statements. They say nothing about trust.
type StatementKeys struct {
	Reason []string `json:"reason" format:"key" default:"none" doc:"keys of your own that state the reason, as polex.dev/reason does"`
	Ticket []string `json:"ticket" format:"key" default:"none" doc:"keys of your own that state the ticket, as polex.dev/ticket does"`
	Owner  []string `json:"owner" format:"key" default:"none" doc:"keys of your own that state the owner, as polex.dev/owner does"`
}

// Fill adds to an exception the statements that its document makes under a team's own
// keys. polex's own key wins wherever it is present, also without a text; of several
// own keys, the first one that has a text wins.
func (k StatementKeys) Fill(e *Exception, d *Document) {
	for said, keys := range map[*Statement][]string{&e.Reason: k.Reason, &e.Ticket: k.Ticket, &e.Owner: k.Owner} {
		for _, key := range keys {
			for _, path := range KeyPaths(d.GroupKind(), key) {
				if other := d.Statement(path...); said.Text == "" && said.Other == "" && other.Text != "" {
					*said = other
				}
			}
		}
	}
}

// All are the keys of all statements.
func (k StatementKeys) All() []string { return slices.Concat(k.Reason, k.Ticket, k.Owner) }

// KeyPaths are the places in which a document of a kind can have a key of a team's own.
func KeyPaths(kind GroupKind, key string) []Path {
	paths := []Path{{"metadata", "annotations", key}, {"metadata", "labels", key}}
	if kind.IsException() && kind.Group == PoliciesGroup {
		paths = append(paths, Path{"spec", "properties", key})
	}
	return paths
}
