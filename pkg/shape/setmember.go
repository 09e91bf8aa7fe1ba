package shape

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/match"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// member is an exception of a [Set], reduced to the parts that are compared.
type member struct {
	id       exception.Identity
	at       exception.Position
	policies []memberPolicy
	byMatch  bool
	block    match.Block // the match, or that of plain conditions; empty for other conditions
	// names and namespaces are those of the matching resources, sorted. For policies.kyverno.io, names also has the
	// conditions. They are empty if they are patterns, missing or too many; then nameless and anywhere are set.
	names, namespaces  []string
	nameless, anywhere bool
	clusters           []string // nil: every cluster
	conditions         []string // policies.kyverno.io: the parts of the match conditions, sorted
	// controls narrow the exemption of the resources that match, and restraint stands for
	// the other requirements. They are only compared for equality.
	controls, restraint digest

	live bool
	// These show whether another exception goes beyond a live one: in its scope or in its expiry.
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

func newMember(d *exception.Document, e *exception.Exception, of *kyverno.Exception, terms lifetime.Terms,
	now time.Time) *member {
	spec := of.Spec
	m := &member{id: e.Identity, at: d.Position(), byMatch: of.ByMatch, block: match.BlockOf(of.Match),
		clusters: d.Clusters()}
	for _, ref := range of.Refs {
		m.policies = append(m.policies, memberPolicy{ref.Key(), ref.RuleNames(), ref.Path})
	}
	if !of.ByMatch {
		conditions := kyverno.Texts(expressions(of))
		m.conditions, m.block = kyverno.Parts(conditions), match.BlockOf(kyverno.PlainMatch(conditions))
	}
	m.controls, m.restraint = digestOf(spec["podSecurity"]),
		digestOf(spec["conditions"], spec["images"], spec["allowedValues"])
	m.scope = digestOf(spec["match"], spec["matchConditions"], spec["podSecurity"], spec["conditions"], spec["images"],
		spec["allowedValues"])
	m.list()
	life, err := lifetime.Of(d, terms)
	switch {
	case err != nil: // the check on lifetimes reports it
	case !life.ExpiresAt.IsZero():
		m.ends = life.ExpiresAt
	case life.ExpiresIn != 0 && !now.IsZero():
		m.ends = now.Add(life.ExpiresIn)
	case life.ExpiresIn == 0:
		m.endless = true
	}
	return m
}

// digest is a hash of values that are only compared for equality, because they can be long.
type digest string

// digestOf returns "" if there are no values.
func digestOf(values ...any) digest {
	if !slices.ContainsFunc(values, func(value any) bool { return value != nil }) {
		return ""
	}
	text, err := json.Marshal(values) // with sorted keys
	if err != nil {
		text = []byte(err.Error()) // a parsed document has the types of JSON only
	}
	sum := sha256.Sum256(text)
	return digest(sum[:])
}

// maxKeys is the maximum number of names of one exception in the index. With more, it counts as one
// with a pattern, so memory grows only with the documents.
const maxKeys = 256

// list sets the names and namespaces of the member.
func (m *member) list() {
	m.names, m.nameless = m.listed(match.Filter.NamesAsked)
	m.namespaces, m.anywhere = m.listed(func(f match.Filter) []string { return f.Namespaces })
	if !m.byMatch { // the same conditions may say neither
		m.names, m.anywhere = append(m.names, m.conditions...), true
	}
	if len(m.policies)*(len(m.names)+len(m.namespaces)) > maxKeys {
		m.names, m.namespaces, m.nameless, m.anywhere = nil, nil, true, true
	}
}

func (m *member) listed(of func(match.Filter) []string) (names []string, wide bool) {
	for _, filters := range m.block {
		plain := slices.IndexFunc(filters, func(f match.Filter) bool {
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

const reasonSuperseded = "superseded"

var supersededLiveCheck = check{
	About: "Finds an exception that replaces the live one of the same name. The message lists new policies and " +
		"rules, a changed match and a later expiry.",
	Reasons: []Reason{{Name: reasonSuperseded, Doc: "the exception replaces a live one", Severity: Warning}},
}

// superseded finds an exception that replaces a live one, and names each extension: the
// earlier approval does not cover more than the live exception.
func (s *Set) superseded(d *exception.Document, m *member) []Finding {
	number, renewed := s.live[m.id.Key()]
	if !renewed {
		return nil
	}
	live := s.members[number]
	if live.at == m.at {
		return nil
	}
	message, hint := fmt.Sprintf("it replaces the live exception at %s", live.at),
		"choose another name if both are needed"
	if extensions := m.beyond(live); len(extensions) > 0 {
		message += ", and changes it: " + strings.Join(extensions, ", ")
		hint = "review the changes like a new exception"
	}
	return findingIn(d, reasonSuperseded, exception.Path{"metadata", "name"}, hint, "%s", message)
}

// maxGrown bounds the number of reported extensions.
const maxGrown = 5

// beyond returns the extensions of a member over a live one.
func (m *member) beyond(live *member) []string {
	var grown []string
	theirs := map[kyverno.PolicyKey][]string{}
	for _, ref := range live.policies {
		theirs[ref.PolicyKey] = append(theirs[ref.PolicyKey], ref.rules...)
	}
	work := wildcard.NewMeter()
	for _, ref := range m.policies {
		rules, named := theirs[ref.PolicyKey]
		if !named {
			grown = append(grown, fmt.Sprintf("the policy %q is new", ref.Name))
			continue
		}
		for _, rule := range ref.rules {
			if !covered(work, rules, rule) {
				grown = append(grown, fmt.Sprintf("the rule %q of %q is new", rule, ref.Name))
			}
		}
	}
	if more := len(grown) - maxGrown; more > 0 {
		grown = append(grown[:maxGrown], fmt.Sprintf("and %d more", more))
	}
	if m.scope != live.scope {
		grown = append(grown, "the match differs")
	}
	switch {
	case m.endless && !live.endless:
		grown = append(grown, "it has no expiry")
	case !m.ends.IsZero() && !live.ends.IsZero() && m.ends.After(live.ends):
		grown = append(grown, fmt.Sprintf("it expires at %s instead of %s", m.ends.UTC().Format(time.RFC3339),
			live.ends.UTC().Format(time.RFC3339)))
	}
	return grown
}

// covered reports whether one of the patterns matches everything that a rule's name or pattern matches.
func covered(work *wildcard.Meter, patterns []string, rule string) bool {
	for _, p := range patterns {
		if work.Spent() {
			return false
		}
		// "?" would match the "*" as one character.
		if p == rule || work.Fits(p, rule) && (!strings.Contains(rule, "*") || !strings.Contains(p, "?")) {
			return true
		}
	}
	return false
}
