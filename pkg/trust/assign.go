package trust

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"github.com/sigstore/fulcio/pkg/certificate"

	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Assign assigns signers to authorities so that the threshold and every group are met. candidates
// lists for each signer the authorities that it matches. A signer counts for at most one authority,
// and an authority counts once.
//
// If such an assignment exists, Assign returns the one with the most signers; a signer that does
// not count has nil. Otherwise it returns the largest possible assignment, and lacking names the
// unmet group or threshold.
func (p *Policy) Assign(candidates [][]*Authority) (counted []*Authority, enough bool, lacking string) {
	if len(candidates) > MaxSigners {
		return nil, false, fmt.Sprintf("%d signers, and the maximum is %d", len(candidates), MaxSigners)
	}
	if counted, ok := p.best(candidates); ok {
		return counted, true, ""
	}
	counted, _ = (&Policy{authorities: p.authorities}).best(candidates)
	return counted, false, p.lacking(candidates)
}

// best tries every number of counted signers, from the highest to the threshold.
func (p *Policy) best(candidates [][]*Authority) (counted []*Authority, ok bool) {
	slots := p.slots(candidates)
	for atLeast := len(candidates); atLeast >= p.threshold; atLeast-- {
		s := search{slots: slots, signers: len(candidates), atLeast: atLeast, failed: map[spot]bool{},
			taken: make([]int, len(slots))}
		if s.from(spot{}) {
			return s.counted(), true
		}
	}
	return nil, false
}

// lacking names the first group that the signers cannot meet on its own, or the threshold.
func (p *Policy) lacking(candidates [][]*Authority) string {
	for _, g := range p.groups {
		if n := most(g.Authorities, candidates); n < g.Threshold {
			return fmt.Sprintf("%d of the group %q signed it, and %d are required", n, g.Name, g.Threshold)
		}
	}
	if n := most(p.authorities, candidates); n < p.threshold {
		return fmt.Sprintf("%d of the authorities signed it, and %d are required", n, p.threshold)
	}
	return "its signers do not satisfy all groups at once"
}

// most returns the maximum number of signers that can count for the authorities, without groups.
func most(authorities []*Authority, candidates [][]*Authority) int {
	counted, _ := (&Policy{authorities: authorities}).best(candidates)
	return len(slices.DeleteFunc(counted, func(a *Authority) bool { return a == nil }))
}

// slot is an authority. At most one signer counts for it.
type slot struct {
	authority *Authority
	may       [MaxSigners]bool // by signer
	// closes marks the last authority of a group. At least need signers must count in the group.
	closes bool
	need   int
}

// slots returns the authorities, group by group. An authority outside all groups is a group of its
// own that needs no signer.
func (p *Policy) slots(candidates [][]*Authority) []slot {
	var slots []slot
	add := func(a *Authority) {
		s := slot{authority: a}
		for signer, may := range candidates {
			s.may[signer] = slices.Contains(may, a)
		}
		slots = append(slots, s)
	}
	grouped := map[*Authority]bool{}
	for _, g := range p.groups {
		for _, a := range g.Authorities {
			grouped[a] = true
			add(a)
		}
		slots[len(slots)-1].closes, slots[len(slots)-1].need = true, g.Threshold
	}
	for _, a := range p.authorities {
		if !grouped[a] {
			add(a)
			slots[len(slots)-1].closes = true
		}
	}
	return slots
}

// search tries each slot with every signer and with none. It remembers failed states, so it ends: a
// slot has at most 256 sets of signers and 9 counts.
type search struct {
	slots   []slot
	signers int
	atLeast int
	failed  map[spot]bool
	taken   []int // by slot: the signer, or -1
}

// spot is the state that determines the rest of a search.
type spot struct {
	slot    int
	used    uint8 // the signers that count already, one bit each
	inGroup int   // the number of them in the current group
}

func (s *search) from(at spot) bool {
	if at.slot == len(s.slots) {
		return bits.OnesCount8(at.used) >= s.atLeast
	}
	if s.failed[at] {
		return false
	}
	for signer := range s.signers {
		if bit := uint8(1) << signer; s.slots[at.slot].may[signer] && at.used&bit == 0 &&
			s.take(at, signer, spot{used: at.used | bit, inGroup: at.inGroup + 1}) {
			return true
		}
	}
	if s.take(at, -1, spot{used: at.used, inGroup: at.inGroup}) {
		return true
	}
	s.failed[at] = true
	return false
}

func (s *search) take(at spot, signer int, next spot) bool {
	if slot := s.slots[at.slot]; slot.closes {
		if next.inGroup < slot.need {
			return false
		}
		next.inGroup = 0
	}
	s.taken[at.slot] = signer
	next.slot = at.slot + 1
	return s.from(next)
}

func (s *search) counted() []*Authority {
	counted := make([]*Authority, s.signers)
	for i, signer := range s.taken {
		if signer >= 0 {
			counted[signer] = s.slots[i].authority
		}
	}
	return counted
}

// fieldOf returns the field of [certificate.Extensions] with a claim. A test compares all of them.
func fieldOf(claim string) string {
	if claim == "tokenSubject" {
		return "Subject"
	}
	return strings.ToUpper(claim[:1]) + claim[1:]
}

// ClaimNames returns the names of the claims that a policy can require, sorted.
func ClaimNames() []string { return slices.Clone(policyfile.Claims) }

// fulcioArc is the prefix of Fulcio's extensions. Below it, known are the last numbers of those that
// [certificate.ParseExtensions] reads; 7 is a type of subject alternative name.
var (
	fulcioArc = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1}
	known     = certificate.OIDTokenSubject[len(fulcioArc)]
)

// Claims returns the non-empty extensions of a Fulcio certificate by the names of [ClaimNames]. An
// extension of Fulcio that has no name yet has its number, such as 1.3.6.1.4.1.57264.1.25, and a
// value that is not a text is in hexadecimal digits. No policy can require it.
func Claims(extensions []pkix.Extension) (map[string]string, error) {
	parsed, err := certificate.ParseExtensions(extensions)
	if err != nil {
		return nil, fmt.Errorf("read the extensions of the certificate: %w", err)
	}
	claims := map[string]string{}
	fields := reflect.ValueOf(parsed)
	for _, name := range policyfile.Claims {
		if value := fields.FieldByName(fieldOf(name)).String(); value != "" {
			claims[name] = value
		}
	}
	for _, e := range extensions {
		n := len(fulcioArc)
		if len(e.Id) <= n || !slices.Equal(e.Id[:n], fulcioArc) || len(e.Id) == n+1 && e.Id[n] <= known {
			continue
		}
		var text string
		if certificate.ParseDERString(e.Value, &text) != nil {
			text = hex.EncodeToString(e.Value)
		}
		claims[e.Id.String()] = text
	}
	return claims, nil
}
