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
	Why        string    `json:"why,omitempty"` // it is unknown, or Kyverno was not asked
}

// Text describes a usage in a few words.
func (u Usage) Text() string {
	some := fmt.Sprintf("%d resources", u.Resources)
	switch {
	case u.Resources == 1 && len(u.First) > 0:
		some = u.First[0]
	case len(u.First) > 0:
		some += ", such as " + u.First[0]
	}
	switch u.State {
	case InUse:
		return "it exempts " + some
	case Idle:
		return "its policies report on resources of its kinds, and it exempts none"
	case NotNeeded:
		return "without it, these would pass: " + some
	}
	return u.Why
}

// maxAge is the maximum age of an audit report that decides about removals.
const maxAge = 7 * 24 * time.Hour

// Audit is what one report of polex-audit or several of them, one for each cluster, say about exceptions.
type Audit struct {
	of map[string]found // by [exception.Identity.String]
}

// found is an exception of the reports.
type found struct {
	digests []string // of its signed message, in each report that calls it unused
	usage   Usage    // the first that is not unused, or else the first
}

// Add adds the JSON of polex-audit. A report that is older than a week, from the future or without a
// cluster is an error. Nothing in it is verified: compare it with the documents.
func (a *Audit) Add(raw []byte, now time.Time) error {
	var report struct {
		APIVersion, Kind string
		AsOf             string
		Cluster          *struct{}
		Findings         []struct{ Kind string }
		Entries          []struct {
			Object    string
			InCluster string
			Signing   struct{ MessageDigest string }
			Usage     *Usage
		}
	}
	if err := json.Unmarshal(raw, &report); err != nil {
		return fmt.Errorf("it is not a report in JSON: %w", err)
	}
	if report.APIVersion != "polex.dev/v1alpha1" || report.Kind != "Ledger" {
		return errors.New("it is not a report of polex-audit -o json")
	}
	at, err := exception.ParseTime(report.AsOf)
	switch {
	case err != nil:
		return fmt.Errorf("asOf: %w", err)
	case report.Cluster == nil:
		return errors.New("it says nothing about a cluster: make it with --kubeconfig or --live")
	case at.After(now) || now.Sub(at) > maxAge:
		return fmt.Errorf("it is of %s: make one that is not older than a week", report.AsOf)
	}
	for _, f := range report.Findings {
		if f.Kind == "cluster-unreadable" {
			return errors.New("some exceptions of its cluster could not be read, and can be in use")
		}
	}
	if a.of == nil {
		a.of = map[string]found{}
	}
	for _, e := range report.Entries {
		switch {
		case e.Usage == nil && e.InCluster != "same" && e.InCluster != "other":
			continue // that cluster does not have it
		case e.Usage == nil:
			e.Usage = &Usage{State: Unknown}
		}
		known, seen := a.of[e.Object]
		if !seen || known.usage.State.Unused() {
			known.usage = *e.Usage
		}
		if e.InCluster == "same" && e.Usage.State.Unused() {
			known.digests = append(known.digests, e.Signing.MessageDigest)
		}
		a.of[e.Object] = known
	}
	return nil
}

// Unused returns what the reports say about the exception with a signed message, if all clusters that have
// it do without it. Otherwise it returns nil.
func (a *Audit) Unused(id exception.Identity, messageDigest string) *Usage {
	known := a.of[id.String()]
	if messageDigest == "" || !known.usage.State.Unused() || !slices.Contains(known.digests, messageDigest) {
		return nil
	}
	return &known.usage
}
