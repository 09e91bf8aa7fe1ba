package ledger

import (
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
)

// live is an exception of a cluster.
type live struct {
	usage.Exception
	seal *Seal
	in   *Entry // of signed/ with its name, or nil
}

// describe keeps the facts about an object, and not the object.
func (o *live) describe(doc *exception.Document, of *Entry) {
	o.Exception = usage.Exception{Identity: doc.Identity(), Read: kyverno.Read(doc), From: of.Seal.SignedAt}
	o.Read.Spec, o.seal = nil, of.Seal
	created, err := time.Parse(time.RFC3339, doc.Text("metadata", "creationTimestamp"))
	if err == nil && created.After(o.From) {
		o.From = created
	}
	for _, x := range of.Exempted {
		o.Scopes = append(o.Scopes, x.Scope)
	}
}

// Reports prepares the collection of report results about the exceptions of the compared cluster.
func (l *Ledger) Reports() *usage.Reports {
	all := make([]usage.Exception, len(l.live))
	for i := range l.live {
		all[i] = l.live[i].Exception
	}
	return usage.NewReports(all)
}

// Use adds what the reports of the compared cluster say to the entries and the findings. The finding about
// an exception that is not in signed/ gets it too.
func (l *Ledger) Use(r *usage.Reports) {
	l.UsageKnown = true
	strays := map[string]*Finding{}
	for i := range l.Findings {
		if f := &l.Findings[i]; f.Kind == ClusterNotInGit {
			strays[f.Object] = f
		}
	}
	for i, u := range r.Usages() {
		o := l.live[i]
		object, file := o.Identity.String(), ""
		if o.in != nil {
			o.in.Usage, file = &u, o.in.File
		} else if f := strays[object]; f != nil {
			f.Message += "; usage: " + string(u.State) + ", " + u.Text()
		}
		if u.State.Unused() {
			l.Findings = append(l.Findings, Finding{Kind: Kind(u.State), Object: object, File: file,
				Message: u.Text(), Hint: "if it stays so for weeks, remove it: polex-prune --unused"})
		}
	}
	l.sortFindings()
}
