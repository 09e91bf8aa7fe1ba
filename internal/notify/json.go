package notify

import (
	"bytes"
	"encoding/json"
	"time"
)

type jsonPolicy struct {
	Kind  string   `json:"kind,omitempty"`
	Name  string   `json:"name"`
	Rules []string `json:"rules,omitempty"`
}

type jsonLog struct {
	URL   string `json:"url,omitempty"`
	Index int64  `json:"index"`
}

type jsonRefusal struct {
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// jsonNotice is version v1alpha1 of the form that docs/notices.md describes.
type jsonNotice struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	ID         string `json:"id"`
	Event      Kind   `json:"event"`
	Verified   bool   `json:"verified"`
	Exception  struct {
		Group     string `json:"group"`
		Kind      string `json:"kind"`
		Namespace string `json:"namespace,omitempty"`
		Name      string `json:"name"`
	} `json:"exception"`
	File          string       `json:"file,omitempty"`
	Commit        string       `json:"commit,omitempty"`
	MessageDigest string       `json:"messageDigest,omitempty"`
	Policies      []jsonPolicy `json:"policies,omitempty"`
	Reason        string       `json:"reason,omitempty"`
	Ticket        string       `json:"ticket,omitempty"`
	Owner         string       `json:"owner,omitempty"`
	RequestedBy   string       `json:"requestedBy,omitempty"`
	ApprovedBy    string       `json:"approvedBy,omitempty"`
	PullRequest   string       `json:"pullRequest,omitempty"`
	SignedAt      *time.Time   `json:"signedAt,omitempty"`
	ExpiresAt     *time.Time   `json:"expiresAt,omitempty"`
	Log           *jsonLog     `json:"log,omitempty"`
	Run           string       `json:"run,omitempty"`
	Refusal       *jsonRefusal `json:"refusal,omitempty"`
}

// JSON renders an event for programs. Texts are as they were signed, whole, and
// escaped so that they end no script and no line.
func JSON(e Event) ([]byte, error) {
	n := jsonNotice{APIVersion: "polex.dev/v1alpha1", Kind: "Notice", ID: e.ID(), Event: e.Kind, Verified: e.Verified, File: e.File, Commit: e.Commit}
	n.Exception.Group, n.Exception.Kind = e.Identity.Group, e.Identity.Kind
	n.Exception.Namespace, n.Exception.Name = e.Identity.Namespace, e.Identity.Name
	if e.Kind == Refused {
		n.Refusal = &jsonRefusal{e.Refusal, e.Detail}
	}
	if e.Verified {
		n.MessageDigest, n.Reason, n.Ticket, n.Owner = e.MessageDigest, e.Reason, e.Ticket, e.Owner
		n.RequestedBy, n.ApprovedBy, n.PullRequest, n.Run = e.RequestedBy, e.ApprovedBy, e.PullRequest, e.Run
		n.SignedAt, n.ExpiresAt = moment(e.SignedAt), moment(e.ExpiresAt)
		for _, p := range e.Policies {
			n.Policies = append(n.Policies, jsonPolicy(p))
		}
		if e.LogIndex >= 0 {
			n.Log = &jsonLog{e.LogURL, e.LogIndex}
		}
	}
	return encode(n)
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// encode writes indented JSON. What opens a runner's command in a log is written
// otherwise; it can stand in strings alone.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	err := enc.Encode(value)
	return bytes.ReplaceAll(b.Bytes(), []byte("##["), []byte(`#\u0023[`)), err
}
