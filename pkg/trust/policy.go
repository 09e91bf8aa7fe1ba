package trust

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// Policy is a checked trust policy. It does not change.
type Policy struct {
	root        *Root
	authorities []*Authority
	threshold   int
	groups      []Group
	rules       policyfile.Rules
	allowed     AllowedMetadata
	digest      string
}

// ErrNoAuthority is the error for a policy without authorities. Such a policy never accepts
// everybody.
var ErrNoAuthority = errors.New("the trust policy names no authority")

// New checks a policy. It does not read the files that the policy names; [Load] does.
func New(c Config, root *Root) (*Policy, error) {
	if root == nil {
		return nil, errors.New("the trust policy has no trusted root")
	}
	rules, err := policyfile.Check(c)
	switch {
	case err != nil:
		return nil, err
	case len(c.Authorities) == 0:
		return nil, ErrNoAuthority
	}
	p := &Policy{root: root, rules: rules, threshold: max(c.Threshold, 1),
		allowed: AllowedMetadata{Labels: maps.Clone(c.AllowedMetadata.Labels),
			Annotations: maps.Clone(c.AllowedMetadata.Annotations)}}
	if p.digest, err = digestOf(c, root); err != nil {
		return nil, err
	}
	for i, ac := range c.Authorities {
		a, err := newAuthority(ac, rules.Authorities[i])
		if err == nil {
			err = p.usable(a)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ac.Called(i), err)
		}
		p.authorities = append(p.authorities, a)
	}
	if err := p.setGroups(c.Groups); err != nil {
		return nil, c.Located(err, "groups")
	}
	if most := distinct(p.authorities); p.threshold > most {
		return nil, c.Located(fmt.Errorf("the threshold %d cannot be reached by %d signers: some authorities are the "+
			"same signer", p.threshold, most), "threshold")
	}
	return p, nil
}

// usable returns an error for an authority that could never count: the root cannot prove the time
// of its signatures, or its limits allow no document.
func (p *Policy) usable(a *Authority) error {
	witnesses := p.root.Logs() || p.root.Timestamps()
	switch {
	case a.key != nil && !a.withoutLog && !p.root.Logs():
		return errors.New("the trusted root names no log, so no log entry of this key could be verified; set " +
			"insecureWithoutLog to require none")
	case a.key == nil && !p.root.Issues():
		return errors.New("the trusted root names no certificate authority")
	case a.key == nil && !witnesses:
		return errors.New("the trusted root names neither a log nor a timestamp authority, so the signing time of a " +
			"certificate could not be proven")
	}
	return nil
}

// digestOf is the digest of a policy with the bytes of its root instead of the path.
func digestOf(c Config, root *Root) (string, error) {
	c.TrustedRoot = root.Digest()
	raw, err := json.Marshal(c)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(raw)), err
}

// Digest returns "sha256:" and the digest of everything that the policy says, the trusted
// root and the keys included. Two policies of one digest judge alike.
func (p *Policy) Digest() string { return p.digest }

// Root returns the trusted root.
func (p *Policy) Root() *Root { return p.root }

// Authorities returns the trusted signers, in the order of the policy.
func (p *Policy) Authorities() []*Authority { return p.authorities }

// Threshold returns the number of distinct authorities that must sign, at least 1.
func (p *Policy) Threshold() int { return p.threshold }

// Groups returns the groups. Every group and the threshold must be met.
func (p *Policy) Groups() []Group { return p.groups }

// AllowsKind reports whether the policy accepts a kind.
func (p *Policy) AllowsKind(gk exception.GroupKind) bool { return p.rules.Kinds.Allow(gk) }

// AllowedMetadata returns the metadata that tools may add to a signed object.
func (p *Policy) AllowedMetadata() AllowedMetadata { return p.allowed }

// Rules returns the rules about documents: their expiry, lifetime and renewals. They must not be
// changed.
func (p *Policy) Rules() *policyfile.Rules { return &p.rules }

// MessageRevoked reports whether the policy revokes the signed message.
func (p *Policy) MessageRevoked(message []byte) bool {
	sum := sha256.Sum256(message)
	return p.rules.Revoked.Messages[policyfile.Fingerprint(sum[:])]
}

// CertificateRevoked reports whether the policy revokes a certificate. The fingerprint is "sha256:"
// and the digest of its DER in lower-case hexadecimal.
func (p *Policy) CertificateRevoked(fingerprint string) bool {
	return p.rules.Revoked.Certificates[fingerprint]
}

// RevokedBefore returns the time before which the authority's signatures are revoked, or zero.
func (p *Policy) RevokedBefore(authority string) time.Time { return p.rules.Revoked.Before[authority] }

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
