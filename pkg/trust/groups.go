package trust

import (
	"errors"
	"fmt"
)

// Group requires a number of distinct authorities from a list.
type Group struct {
	Name        string
	Threshold   int
	Authorities []*Authority
}

// setGroups checks the groups. No authority and no signer is in two of them. So each group can be
// met independently, and the group of a signer is clear.
func (p *Policy) setGroups(groups []GroupConfig) error {
	groupOf := map[*Authority]string{}
	signers := map[string]string{} // the group of each signer
	met := map[string]bool{}
	for i, c := range groups {
		g, err := p.newGroup(c)
		if err != nil {
			return fmt.Errorf("group %d %s: %w", i+1, c.Name, err)
		}
		if met[g.Name] {
			return fmt.Errorf("two groups are called %q", g.Name)
		}
		met[g.Name] = true
		for _, a := range g.Authorities {
			if other, taken := groupOf[a]; taken {
				if other == g.Name {
					return fmt.Errorf("group %q names %q twice", g.Name, a.name)
				}
				return fmt.Errorf("authority %q is in the groups %q and %q", a.name, other, g.Name)
			}
			groupOf[a] = g.Name
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

func (p *Policy) newGroup(c GroupConfig) (Group, error) {
	g := Group{Name: c.Name, Threshold: c.Threshold}
	if c.Name == "" {
		return g, errors.New("it has no name")
	}
	if err := checkName(c.Name); err != nil {
		return g, err
	}
	for _, name := range c.Authorities {
		a := p.authority(name)
		if a == nil {
			return g, fmt.Errorf("there is no authority called %q", name)
		}
		g.Authorities = append(g.Authorities, a)
	}
	switch {
	case len(g.Authorities) == 0:
		return g, errors.New("it has no authorities")
	case c.Threshold < 1 || c.Threshold > len(g.Authorities):
		return g, fmt.Errorf("the threshold %d is not between 1 and the number of its authorities, %d", c.Threshold, len(g.Authorities))
	}
	return g, nil
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
