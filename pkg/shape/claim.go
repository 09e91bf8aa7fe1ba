package shape

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/match"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// claim is what the exceptions of a [Set] are held against each other by.
type claim struct {
	id       exception.Identity
	at       exception.Position
	policies []claimed
	byMatch  bool
	block    match.Block // kyverno.io
	// names are those of the resources that the claim is for, or its conditions,
	// and namespaces are the resources'; sorted. They are not used when a pattern
	// or nothing says them, or when they are very many: then it is wide.
	names, namespaces  []string
	nameless, anywhere bool
	conditions         []string // policies.kyverno.io, sorted
	// controls narrow down what is exempt for the resources that match, and
	// restraint is what else has to hold. All that is asked of them is whether they
	// are the same.
	controls, restraint digest

	live bool
	// Of a live one it is asked whether another goes beyond it: in what says which
	// resources are exempt, or in its end.
	scope   digest
	ends    time.Time
	endless bool // it says no end
}

// claimed is a policy that an exception is from, with the rules that it names. What is
// kept of thousands has no places but this one.
type claimed struct {
	kyverno.PolicyKey
	rules []string
	path  exception.Path
}

func newClaim(d *exception.Document, e *exception.Exception, of *kyverno.Exception, now time.Time) *claim {
	spec := of.Spec
	c := &claim{id: e.Identity, at: d.Position(), byMatch: of.ByMatch, block: match.BlockOf(of.Match)}
	for _, ref := range of.Refs {
		c.policies = append(c.policies, claimed{ref.Key(), ref.RuleNames(), ref.Path})
	}
	if !of.ByMatch {
		conditions := kyverno.Texts(expressions(of))
		c.conditions, c.block = kyverno.Parts(conditions), match.BlockOf(kyverno.PlainMatch(conditions))
	}
	c.controls, c.restraint = digestOf(spec["podSecurity"]), digestOf(spec["conditions"], spec["images"], spec["allowedValues"])
	c.scope = digestOf(spec["match"], spec["matchConditions"], spec["podSecurity"], spec["conditions"], spec["images"], spec["allowedValues"])
	c.list()
	life, err := lifetime.Of(e)
	switch {
	case err != nil: // said by the check on lifetimes
	case !life.ExpiresAt.IsZero():
		c.ends = life.ExpiresAt
	case life.ExpiresIn != 0 && !now.IsZero():
		c.ends = now.Add(life.ExpiresIn)
	case life.ExpiresIn == 0:
		c.endless = true
	}
	return c
}

// digest stands for values of which nothing is asked but whether they are the
// same, for they can be long.
type digest string

// digestOf returns "" where there are no values.
func digestOf(values ...any) digest {
	if !slices.ContainsFunc(values, func(value any) bool { return value != nil }) {
		return ""
	}
	text, err := json.Marshal(values) // which orders keys
	if err != nil {
		text = []byte(err.Error()) // a parsed document has JSON's types alone
	}
	sum := sha256.Sum256(text)
	return digest(sum[:])
}

// maxKeys is how often one exception is put into the index under a name. One
// that would take more counts as if a pattern said its names, so that memory
// grows with the documents alone.
const maxKeys = 256

// list finds out the names and namespaces that the claim goes by.
func (c *claim) list() {
	c.names, c.nameless = c.said((*match.Filter).NamesAsked)
	c.namespaces, c.anywhere = c.said(func(f *match.Filter) []string { return f.Namespaces })
	if !c.byMatch { // the same conditions may say neither
		c.names, c.anywhere = append(c.names, c.conditions...), true
	}
	if len(c.policies)*(len(c.names)+len(c.namespaces)) > maxKeys {
		c.names, c.namespaces, c.nameless, c.anywhere = nil, nil, true, true
	}
}

func (c *claim) said(of func(*match.Filter) []string) (names []string, wide bool) {
	for _, filters := range c.block.Alternatives() {
		plain := slices.IndexFunc(filters, func(f *match.Filter) bool {
			list := of(f)
			return len(list) > 0 && !slices.ContainsFunc(list, wildcard.In)
		})
		if plain < 0 {
			return nil, true
		}
		names = append(names, of(filters[plain])...)
	}
	slices.Sort(names)
	return slices.Compact(names), false
}
