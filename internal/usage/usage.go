package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// State says whether an exception is needed.
type State string

// The states.
const (
	InUse     State = "in-use"     // resources are exempt because of it
	Idle      State = "idle"       // its policies report on resources of its kinds, and it exempts none
	NotNeeded State = "not-needed" // its resources would pass without it
	Unknown   State = "unknown"
)

// States returns all states.
func States() []State { return []State{InUse, Idle, NotNeeded, Unknown} }

// Unused reports whether an exception of this state can be removed.
func (s State) Unused() bool { return s == Idle || s == NotNeeded }

// Usage is the answer about one exception of a cluster.
type Usage struct {
	State State `json:"state"`
	// Resources is the number of resources that it exempts now, and First are the first of them by name.
	Resources int      `json:"resources"`
	First     []string `json:"first,omitempty"`
	// KnownSince is the time of the oldest report result that the answer needs.
	KnownSince time.Time `json:"knownSince,omitzero"`
	Why        string    `json:"why,omitempty"` // of an unknown one, or what was not judged
}

// Text describes a usage in a few words.
func (u Usage) Text() string {
	switch {
	case u.State == InUse && u.Resources == 1:
		return "it exempts " + u.First[0]
	case u.State == InUse:
		return fmt.Sprintf("it exempts %d resources, such as %s", u.Resources, u.First[0])
	case u.State == Idle:
		return "its policies report on resources of its kinds, and it exempts none"
	case u.State == NotNeeded && u.Resources == 1:
		return u.First[0] + " would pass without it"
	case u.State == NotNeeded:
		return fmt.Sprintf("its %d resources, such as %s, would pass without it", u.Resources, u.First[0])
	}
	return u.Why
}

// maxAge is the maximum age of an audit report that decides about removals.
const maxAge = 7 * 24 * time.Hour

// Found is an unused exception of an audit report.
type Found struct {
	Object        string // [exception.Identity.String]
	MessageDigest string // of its signed message
	Usage         Usage
}

// Audit are the unused exceptions of an audit report.
type Audit struct {
	At     time.Time
	Unused []Found
}

// ReadAudit reads the JSON of polex-audit. A report that is older than a week, from the future or
// without a cluster is an error. Nothing in it is verified: compare it with the documents.
func ReadAudit(raw []byte, now time.Time) (*Audit, error) {
	var report struct {
		APIVersion, Kind string
		AsOf             string
		Cluster          *struct{}
		Entries          []struct {
			Object    string
			InCluster string
			Signing   *struct{ MessageDigest string }
			Usage     *Usage
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, fmt.Errorf("it is not a report in JSON: %w", err)
	}
	if report.APIVersion != "polex.dev/v1alpha1" || report.Kind != "Ledger" {
		return nil, errors.New("it is not a report of polex-audit -o json")
	}
	at, err := exception.ParseTime(report.AsOf)
	switch {
	case err != nil:
		return nil, fmt.Errorf("asOf: %w", err)
	case report.Cluster == nil:
		return nil, errors.New("it says nothing about a cluster: make it with --kubeconfig or --live")
	case at.After(now) || now.Sub(at) > maxAge:
		return nil, fmt.Errorf("it is of %s: make one that is not older than a week", report.AsOf)
	}
	a := &Audit{At: at}
	for _, e := range report.Entries {
		if e.Usage != nil && e.Usage.State.Unused() && e.Signing != nil && e.InCluster == "same" {
			a.Unused = append(a.Unused, Found{e.Object, e.Signing.MessageDigest, *e.Usage})
		}
	}
	return a, nil
}

// Of returns what the report says about the exception with a signed message, or nil if it is not
// unused.
func (a *Audit) Of(id exception.Identity, messageDigest string) *Found {
	object := id.String()
	i := slices.IndexFunc(a.Unused, func(f Found) bool {
		return f.Object == object && f.MessageDigest == messageDigest && messageDigest != ""
	})
	if i < 0 {
		return nil
	}
	return &a.Unused[i]
}
