package trust

import "fmt"

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
			a := p.authority(name)
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

func (p *Policy) authority(name string) *Authority {
	for _, a := range p.authorities {
		if a.name == name {
			return a
		}
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
