package trust

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// Authority is someone whose signature counts, checked and ready to compare.
type Authority struct {
	name    string
	issuer  string
	subject string
	pattern *regexp.Regexp
	claims  map[string]string

	key        crypto.PublicKey
	withoutLog bool
}

// Name returns what reports call the authority.
func (a *Authority) Name() string { return a.name }

// Key returns the authority's public key, or nil for a keyless identity.
func (a *Authority) Key() crypto.PublicKey { return a.key }

// WithoutLog reports whether the key's signature counts without a log entry.
func (a *Authority) WithoutLog() bool { return a.withoutLog }

// Identity is what a verified certificate says of its owner.
type Identity struct {
	Issuer  string
	Subject string
	// Type is the type of the subject alternative name: "uri" or "email".
	Type   string
	Claims map[string]string // Fulcio's extensions by the names of [ClaimNames]
}

// Mismatch says why an identity is not the authority's, naming what was
// expected and what was found; it is "" when it is.
func (a *Authority) Mismatch(id Identity) string {
	switch {
	case a.key != nil:
		return "it signs with a key"
	case id.Issuer != a.issuer:
		return fmt.Sprintf("its issuer is %q, not %q", id.Issuer, a.issuer)
	case a.subject != "" && id.Subject != a.subject:
		return fmt.Sprintf("its subject is %q, not %q", id.Subject, a.subject)
	case a.pattern != nil && !a.pattern.MatchString(id.Subject):
		return fmt.Sprintf("its subject %q does not match %q", id.Subject, a.pattern)
	case id.Type != a.subjectType():
		return fmt.Sprintf("its subject is of type %s, not %s", id.Type, a.subjectType())
	}
	for _, name := range claimOrder {
		if want, asked := a.claims[name]; asked && id.Claims[name] != want {
			return fmt.Sprintf("its claim %s is %q, not %q", name, id.Claims[name], want)
		}
	}
	return ""
}

// subjectType is the type of name that the authority's certificates carry:
// workflows have addresses, people have mailboxes.
func (a *Authority) subjectType() string {
	text := a.subject
	if a.pattern != nil {
		text = strings.ReplaceAll(a.pattern.String(), `\/`, "/") // many people escape slashes
	}
	if strings.Contains(text, "://") {
		return "uri"
	}
	return "email"
}

func newAuthority(c AuthorityConfig) (*Authority, error) {
	keyed := c.Key != ""
	keyless := c.Issuer != "" || c.Subject != "" || c.SubjectRegexp != "" || len(c.Claims) > 0
	switch {
	case keyed && keyless:
		return nil, errors.New("it is either a key or a keyless identity, not both")
	case keyed:
		return newKey(c)
	case c.InsecureWithoutLog:
		return nil, errors.New("insecureWithoutLog is for keys: a keyless signature means nothing without a witnessed time")
	default:
		return newKeyless(c)
	}
}

func newKey(c AuthorityConfig) (*Authority, error) {
	key, err := cryptoutils.UnmarshalPEMToPublicKey([]byte(c.Key))
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if err := checkStrength(key); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	name := c.Name
	if name == "" {
		name = "key"
	}
	return &Authority{name: name, key: key, withoutLog: c.InsecureWithoutLog}, nil
}

// checkStrength accepts Ed25519, ECDSA over the P-256, P-384 and P-521 curves,
// and RSA of 2048 to 4096 bits: weaker keys can be broken, and larger ones only
// make verifying slow.
func checkStrength(key crypto.PublicKey) error {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() || key.Curve == elliptic.P521() {
			return nil
		}
		return errors.New("the curve is not one of P-256, P-384 and P-521")
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < 2048 || bits > 4096 {
			return fmt.Errorf("RSA of %d bits; 2048 to 4096 are accepted", bits)
		}
		return nil
	default:
		return fmt.Errorf("the type %T is not one of Ed25519, ECDSA and RSA", key)
	}
}

func newKeyless(c AuthorityConfig) (*Authority, error) {
	if err := checkIssuer(c.Issuer); err != nil {
		return nil, err
	}
	a := &Authority{name: c.Name, issuer: c.Issuer, subject: c.Subject, claims: map[string]string{}}
	switch {
	case c.Subject == "" && c.SubjectRegexp == "":
		return nil, errors.New("it names no subject: without one, anyone whom the issuer knows could sign")
	case c.Subject != "" && c.SubjectRegexp != "":
		return nil, errors.New("subject and subjectRegexp are both set")
	case strings.ContainsAny(c.Subject, "*?"):
		return nil, fmt.Errorf("subject %q holds a wildcard, and subjects are compared exactly: use subjectRegexp", c.Subject)
	case strings.TrimSpace(c.Subject) != c.Subject:
		return nil, fmt.Errorf("subject %q begins or ends with white space", c.Subject)
	}
	if c.SubjectRegexp != "" {
		pattern, err := compile(c.SubjectRegexp)
		if err != nil {
			return nil, err
		}
		a.pattern = pattern
	}
	for name, value := range c.Claims {
		if claimGetters[name] == nil {
			return nil, fmt.Errorf("claim %q is not one of %s", name, strings.Join(claimOrder, ", "))
		}
		if value == "" {
			return nil, fmt.Errorf("claim %s is empty: leave it out, or say what it must be", name)
		}
		a.claims[name] = value
	}
	if a.name == "" {
		a.name = c.Subject + c.SubjectRegexp
	}
	return a, nil
}

// compile anchors a pattern at both ends, whatever its author wrote, and
// refuses one that would take in anybody.
func compile(expression string) (*regexp.Regexp, error) {
	if len(expression) > 1024 {
		return nil, errors.New("subjectRegexp is longer than 1024 characters")
	}
	pattern, err := regexp.Compile("^(?:" + expression + ")$")
	if err != nil {
		return nil, fmt.Errorf("subjectRegexp: %w", err)
	}
	// The parenthesis must close where it was opened: "a)|(b" would compile too
	// and mean something else.
	if _, err := regexp.Compile(expression); err != nil {
		return nil, fmt.Errorf("subjectRegexp: %w", err)
	}
	for _, anybody := range []string{"", "https://stranger.invalid/a/b@c", "stranger@stranger.invalid"} {
		if pattern.MatchString(anybody) {
			return nil, fmt.Errorf("subjectRegexp %q would take in anybody", expression)
		}
	}
	return pattern, nil
}

func checkIssuer(issuer string) error {
	if issuer == "" {
		return errors.New("it names no issuer: without one, anybody's identity provider could vouch for the subject")
	}
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("issuer %q is not the address of an OIDC issuer", issuer)
	}
	if u.Scheme == "http" && u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" && u.Hostname() != "::1" {
		return fmt.Errorf("issuer %q is not reached by https", issuer)
	}
	return nil
}
