package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
)

// Policy is a trust policy that was checked. It does not change.
type Policy struct {
	root        *Root
	authorities []*Authority
	threshold   int
	kinds       Kinds
	maxLifetime time.Duration
	unbounded   bool

	revokedMessages map[[sha256.Size]byte]bool
	revokedBefore   map[string]time.Time // by authority
}

// ErrNoAuthority is returned for a policy that names nobody: that is never
// taken to mean anybody.
var ErrNoAuthority = errors.New("the trust policy names no authority")

// New checks a policy. KeyFile and TrustedRoot are not read: [Load] does that.
func New(c Config, root *Root) (*Policy, error) {
	if root == nil {
		return nil, errors.New("the trust policy has no trusted root")
	}
	p := &Policy{root: root, threshold: max(c.Threshold, 1), unbounded: c.InsecureAllowUnbounded}
	if len(c.Authorities) == 0 {
		return nil, ErrNoAuthority
	}
	names := map[string]bool{}
	for i, ac := range c.Authorities {
		a, err := newAuthority(ac)
		if err != nil {
			return nil, fmt.Errorf("authority %d %s: %w", i+1, ac.Name, err)
		}
		if names[a.name] {
			return nil, fmt.Errorf("two authorities are called %q", a.name)
		}
		if err := p.usable(a); err != nil {
			return nil, fmt.Errorf("authority %q: %w", a.name, err)
		}
		names[a.name] = true
		p.authorities = append(p.authorities, a)
	}
	if c.Threshold < 0 || p.threshold > len(p.authorities) {
		return nil, fmt.Errorf("the threshold %d cannot be reached by %d authorities", c.Threshold, len(p.authorities))
	}
	var err error
	if p.kinds, err = NewKinds(c.Kinds); err != nil {
		return nil, err
	}
	if c.MaxLifetime != "" {
		d, err := lifetime.ParseDuration(c.MaxLifetime)
		if err != nil {
			return nil, fmt.Errorf("maxLifetime: %w", err)
		}
		p.maxLifetime = d
	}
	if err := p.setRevoked(c.Revoked, names); err != nil {
		return nil, err
	}
	return p, nil
}

// usable refuses an authority whose signatures the root could never witness.
func (p *Policy) usable(a *Authority) error {
	if a.key != nil {
		if !a.withoutLog && !p.root.Logs() {
			return errors.New("the trusted root names no log, so no signature of this key could be witnessed; set insecureWithoutLog to do without")
		}
		return nil
	}
	switch {
	case !p.root.Issues():
		return errors.New("the trusted root names no certificate authority")
	case !p.root.Logs() && !p.root.Timestamps():
		return errors.New("the trusted root names neither a log nor a timestamp authority: nothing would witness the time of a keyless signature")
	}
	return nil
}

func (p *Policy) setRevoked(revoked []RevocationConfig, names map[string]bool) error {
	p.revokedMessages, p.revokedBefore = map[[sha256.Size]byte]bool{}, map[string]time.Time{}
	for i, r := range revoked {
		byMessage, byAuthority := r.MessageDigest != "", r.Authority != "" || r.SignedBefore != ""
		switch {
		case byMessage == byAuthority:
			return fmt.Errorf("revoked %d: set either messageDigest, or authority and signedBefore", i+1)
		case byMessage:
			text, ok := strings.CutPrefix(r.MessageDigest, "sha256:")
			raw, err := hex.DecodeString(text)
			if !ok || err != nil || len(raw) != sha256.Size {
				return fmt.Errorf("revoked %d: %q is not sha256: and 64 hexadecimal digits", i+1, r.MessageDigest)
			}
			p.revokedMessages[[sha256.Size]byte(raw)] = true
		default:
			before, err := time.Parse(time.RFC3339, r.SignedBefore)
			if err != nil {
				return fmt.Errorf("revoked %d: signedBefore %q is not a time in RFC 3339", i+1, r.SignedBefore)
			}
			if !names[r.Authority] {
				return fmt.Errorf("revoked %d: there is no authority called %q", i+1, r.Authority)
			}
			if before.After(p.revokedBefore[r.Authority]) {
				p.revokedBefore[r.Authority] = before
			}
		}
	}
	return nil
}

// Root returns the trusted root.
func (p *Policy) Root() *Root { return p.root }

// Authorities returns whose signatures count, in the order of the policy.
func (p *Policy) Authorities() []*Authority { return p.authorities }

// Threshold returns how many distinct authorities have to sign, at least 1.
func (p *Policy) Threshold() int { return p.threshold }

// AllowsKind reports whether the policy speaks of a kind.
func (p *Policy) AllowsKind(gk exception.GroupKind) bool { return p.kinds.Allow(gk) }

// MaxLifetime returns the longest time between signing and expiry, 0 for none.
func (p *Policy) MaxLifetime() time.Duration { return p.maxLifetime }

// AllowsUnbounded reports whether an exception may do without an expiry.
func (p *Policy) AllowsUnbounded() bool { return p.unbounded }

// MessageRevoked reports whether the signed message was withdrawn.
func (p *Policy) MessageRevoked(message []byte) bool {
	return p.revokedMessages[sha256.Sum256(message)]
}

// RevokedBefore returns the time before which the authority's signatures are
// withdrawn, zero for none.
func (p *Policy) RevokedBefore(authority string) time.Time { return p.revokedBefore[authority] }
