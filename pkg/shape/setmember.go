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

// member is an exception of a [Set], reduced to the parts that are compared.
type member struct {
	id       exception.Identity
	at       exception.Position
	policies []memberPolicy
	byMatch  bool
	block    match.Block // the match, or that of plain conditions; empty for others
	// names are those of the resources that the member is for, or its conditions,
	// and namespaces are the resources'; sorted. They are not used when a pattern
	// or nothing says them, or when they are very many: then it is wide.
	names, namespaces  []string
	nameless, anywhere bool
	conditions         []string // policies.kyverno.io: the parts of the match conditions, sorted
	// controls narrow the exemption of the resources that match, and restraint stands for
	// the other requirements. They are only compared for equality.
	controls, restraint digest

	live bool
	// These show whether another exception goes beyond a live one: in its scope or in its
	// expiry.
	scope   digest
	ends    time.Time
	endless bool // it states no expiry
}

// memberPolicy is a policy that an exception is from, with the rules that it names. This path is
// the only one that is kept, because there can be thousands of members.
type memberPolicy struct {
	kyverno.PolicyKey
	rules []string
	path  exception.Path
}

func newMember(d *exception.Document, e *exception.Exception, of *kyverno.Exception, terms lifetime.Terms, now time.Time) *member {
	spec := of.Spec
	m := &member{id: e.Identity, at: d.Position(), byMatch: of.ByMatch, block: match.BlockOf(of.Match)}
	for _, ref := range of.Refs {
		m.policies = append(m.policies, memberPolicy{ref.Key(), ref.RuleNames(), ref.Path})
	}
	if !of.ByMatch {
		conditions := kyverno.Texts(expressions(of))
		m.conditions, m.block = kyverno.Parts(conditions), match.BlockOf(kyverno.PlainMatch(conditions))
	}
	m.controls, m.restraint = digestOf(spec["podSecurity"]), digestOf(spec["conditions"], spec["images"], spec["allowedValues"])
	m.scope = digestOf(spec["match"], spec["matchConditions"], spec["podSecurity"], spec["conditions"], spec["images"], spec["allowedValues"])
	m.list()
	life, err := lifetime.Of(d, terms)
	switch {
	case err != nil: // said by the check on lifetimes
	case !life.ExpiresAt.IsZero():
		m.ends = life.ExpiresAt
	case life.ExpiresIn != 0 && !now.IsZero():
		m.ends = now.Add(life.ExpiresIn)
	case life.ExpiresIn == 0:
		m.endless = true
	}
	return m
}

// digest stands for values that are only compared for equality, because they can be
// long.
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

// list finds out the names and namespaces that the member goes by.
func (m *member) list() {
	m.names, m.nameless = m.said((*match.Filter).NamesAsked)
	m.namespaces, m.anywhere = m.said(func(f *match.Filter) []string { return f.Namespaces })
	if !m.byMatch { // the same conditions may say neither
		m.names, m.anywhere = append(m.names, m.conditions...), true
	}
	if len(m.policies)*(len(m.names)+len(m.namespaces)) > maxKeys {
		m.names, m.namespaces, m.nameless, m.anywhere = nil, nil, true, true
	}
}

func (m *member) said(of func(*match.Filter) []string) (names []string, wide bool) {
	for _, filters := range m.block.Alternatives() {
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
