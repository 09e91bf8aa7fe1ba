package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"time"
)

// Deletion is a deletion in the API server's audit log.
type Deletion struct {
	By                     string // the user
	Group, Namespace, Name string
	At                     time.Time // to the microsecond, by the API server's clock
}

// Deletions returns the deletions of existing exceptions by the audited users.
func (c *Cluster) Deletions() ([]Deletion, error) {
	raw, err := os.ReadFile(c.AuditLog())
	if err != nil {
		return nil, err
	}
	var all []Deletion
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Stage, Verb    string
			User           struct{ Username string }
			ObjectRef      struct{ APIGroup, Resource, Namespace, Name string }
			ResponseStatus struct{ Code int }
			StageTimestamp time.Time
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, err
		}
		if o := event.ObjectRef; event.Stage == "ResponseComplete" && event.Verb == "delete" && o.Resource == "policyexceptions" && event.ResponseStatus.Code == 200 {
			all = append(all, Deletion{event.User.Username, o.APIGroup, o.Namespace, o.Name, event.StageTimestamp})
		}
	}
	return all, lines.Err()
}
