package notify

import (
	"bytes"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/internal/plain"
)

type jsonIdentity struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

type jsonLog struct {
	URL   string          `json:"url,omitempty"`
	Index ledger.LogIndex `json:"index"`
}

type jsonRefusal struct {
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// JSON renders an event for programs, in version v1alpha1 of the form in docs/reference/audit.md. Texts are
// complete and as they were signed. They are escaped, so that they end no script and no line.
func JSON(e Event) ([]byte, error) {
	id, said := e.Identity, e
	if !e.Verified { // without unverified texts
		said = Event{Kind: e.Kind, Identity: id, LogIndex: -1, Commit: e.Commit, Refusal: e.Refusal, Detail: e.Detail,
			File: e.File}
	}
	out := struct {
		APIVersion string       `json:"apiVersion"`
		Kind       string       `json:"kind"`
		ID         string       `json:"id"`
		Exception  jsonIdentity `json:"exception"`
		Event
		Log     *jsonLog     `json:"log,omitempty"`
		Refusal *jsonRefusal `json:"refusal,omitempty"`
	}{APIVersion: "polex.dev/v1alpha1", Kind: "Notice", ID: e.ID(), Event: said,
		Exception: jsonIdentity{id.Group, id.Kind, id.Namespace, id.Name}}
	if out.LogIndex >= 0 {
		out.Log = &jsonLog{out.LogURL, out.LogIndex}
	}
	if e.Kind == Refused {
		out.Refusal = &jsonRefusal{e.Refusal, e.Detail}
	}
	return encode(out)
}

func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	err := plain.WriteJSON(&b, value)
	return b.Bytes(), err
}
