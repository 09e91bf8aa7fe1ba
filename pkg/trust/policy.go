package trust

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// Policy is a checked trust policy. It does not change.
type Policy struct {
	root        *Root
	authorities []*Authority
	threshold   int
	groups      []Group
	kinds       Kinds
	maxLifetime time.Duration
	lifetimes   []lifetimeRule
	terms       lifetime.Terms
	unbounded   bool
	revoked     revoked
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
	p := &Policy{root: root, threshold: max(c.Threshold, 1), unbounded: c.InsecureAllowUnbounded}
	var err error
	if p.digest, err = digestOf(c, root); err != nil {
		return nil, err
	}
	if p.kinds, err = NewKinds(c.Kinds); err != nil {
		return nil, c.located(err)
	}
	if err := p.setAuthorities(c.Authorities); err != nil {
		return nil, err
	}
	if err := p.setRules(c); err != nil {
		return nil, c.located(err)
	}
	return p, nil
}

// setRules sets everything that counts for all authorities together.
func (p *Policy) setRules(c Config) (err error) {
	if err := p.setGroups(c.Groups); err != nil {
		return err
	}
	if err := p.checkThresholds(c.Threshold); err != nil {
		return err
	}
	if c.MaxLifetime != "" {
		if p.maxLifetime, err = lifetime.ParseDuration(c.MaxLifetime); err != nil {
			return fmt.Errorf("maxLifetime: %w", err)
		}
	}
	for i, lc := range c.Lifetimes {
		rule, err := newLifetimeRule(lc)
		if err != nil {
			return fmt.Errorf("lifetimes %d: %w", i+1, err)
		}
		p.lifetimes = append(p.lifetimes, rule)
	}
	if p.terms, err = c.Terms(); err != nil {
		return err
	}
	if err := p.setRevoked(c.Revoked); err != nil {
		return err
	}
	return p.setAllowedMetadata(c.AllowedMetadata)
}

func (p *Policy) setAuthorities(configs []AuthorityConfig) error {
	if len(configs) == 0 {
		return ErrNoAuthority
	}
	for i, c := range configs {
		a, err := newAuthority(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.called(i), err)
		}
		if p.authority(a.name) != nil {
			return fmt.Errorf("%s: two authorities are called %q", c.called(i), a.name)
		}
		if err := p.usable(a); err != nil {
			return fmt.Errorf("%s: %w", c.called(i), err)
		}
		p.authorities = append(p.authorities, a)
	}
	return nil
}

// usable returns an error for an authority that could never count: the root cannot prove the time
// of its signatures, or its limits allow no document.
func (p *Policy) usable(a *Authority) error {
	witnesses := p.root.Logs() || p.root.Timestamps()
	switch {
	case a.key != nil && !a.withoutLog && !p.root.Logs():
		return errors.New("the trusted root names no log, so no log entry of this key could be verified; set insecureWithoutLog to require none")
	case a.key != nil && a.limits.measures() && !witnesses:
		return errors.New("limits: the trusted root has no log, so the lifetime of signatures by this key cannot be proven")
	case a.key == nil && a.authority == nil && !p.root.Issues():
		return errors.New("the trusted root names no certificate authority")
	case a.key == nil && !witnesses:
		return errors.New("the trusted root names neither a log nor a timestamp authority, so the signing time of a certificate could not be proven")
	}
	if err := p.shareAuthority(a); err != nil {
		return err
	}
	return a.limits.check(p.kinds)
}

// shareAuthority lets authorities with the same chain share one certificate authority. It returns
// an error if certificates of the chain could also belong to another chain or to Fulcio.
func (p *Policy) shareAuthority(a *Authority) error {
	if a.authority == nil {
		return nil
	}
	if a.authority.isFulcio(p.root) {
		return errors.New("certificateAuthority: it is in the trusted root: name the signer by issuer and subject")
	}
	for _, other := range p.authorities {
		switch {
		case other.authority == nil || !a.authority.sameIssuer(other.authority):
		case a.authority.is(other.authority.chain):
			a.authority = other.authority
		default:
			return fmt.Errorf("certificateAuthority: it is that of %q with another chain: use the same chain for both", other.name)
		}
	}
	return nil
}

// checkThresholds rejects thresholds that no document can meet.
func (p *Policy) checkThresholds(configured int) error {
	need := 0
	for _, g := range p.groups {
		need += g.Threshold
	}
	switch most := distinct(p.authorities); {
	case configured < 0 || p.threshold > len(p.authorities):
		return fmt.Errorf("the threshold %d cannot be reached by %d authorities", configured, len(p.authorities))
	case p.threshold > most:
		return fmt.Errorf("the threshold %d cannot be reached by %d signers: some authorities are the same signer", configured, most)
	case max(p.threshold, need) > MaxSigners:
		return fmt.Errorf("the thresholds require %d signers, and a document has at most %d signatures", max(p.threshold, need), MaxSigners)
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
func (p *Policy) AllowsKind(gk exception.GroupKind) bool { return p.kinds.Allow(gk) }

// Terms returns the settings for reading the expiry of an exception.
func (p *Policy) Terms() lifetime.Terms { return p.terms }

// AllowsUnbounded reports whether the policy accepts exceptions without an expiry.
func (p *Policy) AllowsUnbounded() bool { return p.unbounded }
