package trust

import (
	"fmt"
	"slices"
)

// Group requires a number of distinct authorities from a list.
type Group struct {
	Name        string
	Threshold   int
	Authorities []*Authority
}

// setGroups resolves the groups. No signer is in two of them, so each group can be met independently,
// and the group of a signer is clear.
func (p *Policy) setGroups(groups []GroupConfig) error {
	signers := map[string]string{} // the group of each signer
	for _, c := range groups {
		g := Group{Name: c.Name, Threshold: c.Threshold}
		for _, name := range c.Authorities {
			a := p.Authority(name)
			g.Authorities = append(g.Authorities, a)
			signer := a.signer()
			if other, taken := signers[signer]; taken && signer != "" && other != g.Name {
				return fmt.Errorf("the groups %q and %q name one signer, as %q in the second", other, g.Name, a.name)
			}
			signers[signer] = g.Name
		}
		if most := distinct(g.Authorities); g.Threshold > most {
			return fmt.Errorf("group %q: the threshold %d cannot be reached by %d signers", g.Name, g.Threshold, most)
		}
		p.groups = append(p.groups, g)
	}
	return nil
}

// Authority returns the authority of a name, or nil.
func (p *Policy) Authority(name string) *Authority {
	if i := slices.IndexFunc(p.authorities, func(a *Authority) bool { return a.name == name }); i >= 0 {
		return p.authorities[i]
	}
	return nil
}

// distinct returns the maximum number of different signers for the authorities. A signer with two
// names counts once; each pattern can match another signer.
func distinct(authorities []*Authority) int {
	n := 0
	met := map[string]bool{}
	for _, a := range authorities {
		if signer := a.signer(); signer == "" || !met[signer] {
			met[signer] = true
			n++
		}
	}
	return n
}
