package policyfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Authority is a checked authority. The content of its key is not checked.
type Authority struct {
	Name    string
	Issuer  string           // "" for a key
	Subject *Subject         // nil for a key
	Claims  map[string]OneOf // what a certificate of Fulcio must have
	Limits  Limits
}

func newAuthority(c AuthorityConfig) (a Authority, err error) {
	identity := c.Issuer != "" || c.Subject != "" || c.SubjectRegexp != "" || len(c.Claims) > 0 || c.GitHub != nil
	key := c.Key != "" || c.KeyFile != ""
	switch {
	case c.Key != "" && c.KeyFile != "":
		err = errors.New("key and keyFile are both set")
	case key && identity:
		err = errors.New("it is either a key or an identity, not both")
	case !key && c.InsecureWithoutLog:
		err = errors.New("insecureWithoutLog is for keys: a certificate proves nothing without a proven signing time")
	case c.RequireCommit && key:
		err = errors.New("requireCommit belongs to Fulcio, whose certificates name the commit of the run")
	}
	if err == nil {
		err = checkName(c.Name)
	}
	a.Issuer = c.Issuer
	if c.GitHub != nil {
		a.Issuer = cmp.Or(c.Issuer, githubIssuer)
	}
	if err == nil && !key {
		err = checkIssuer(a.Issuer)
	}
	switch {
	case err != nil || key:
	case c.GitHub != nil:
		err = a.github(c)
	default:
		a.Subject, err = newSubject(c)
	}
	if err == nil {
		err = a.require(c.Claims)
	}
	if err != nil {
		return a, err
	}
	if c.Limits != nil {
		if a.Limits, err = newLimits(*c.Limits); err == nil && c.Limits.none() {
			err = errors.New("they limit nothing: leave them out, or set one")
		}
		if err != nil {
			return a, fmt.Errorf("limits: %w", err)
		}
	}
	a.Name = cmp.Or(c.Name, c.Subject, c.SubjectRegexp, "key")
	if c.Name == "" && c.GitHub != nil {
		a.Name = c.GitHub.Repository[0]
	}
	return a, nil
}

// github sets what the certificates of a workflow have.
func (a *Authority) github(c AuthorityConfig) error {
	if c.Subject != "" || c.SubjectRegexp != "" {
		return errors.New("github states the subject: remove subject and subjectRegexp, or write the authority " +
			"without github")
	}
	if err := c.GitHub.check(); err != nil {
		return err
	}
	if c.GitHub.Server != "" && c.Issuer == "" {
		return fmt.Errorf("github.server has another issuer than %s: add issuer, such as %s/_services/token",
			githubIssuer, c.GitHub.Server)
	}
	subjects, claims := c.GitHub.expand()
	for name := range c.Claims {
		if claims[name] != nil {
			return fmt.Errorf("github states the claim %s: remove it from claims", name)
		}
	}
	a.Subject = &Subject{Exact: NewOneOf(subjects), Type: TypeURI}
	return a.require(claims)
}

// require adds claims that the certificates must have.
func (a *Authority) require(claims map[string]Values) error {
	for _, name := range sortedKeys(claims) {
		if !slices.Contains(Claims, name) {
			return fmt.Errorf("claim %q is not one of %s", name, strings.Join(Claims, ", "))
		}
		if err := claims[name].check("claim " + name); err != nil {
			return err
		}
		if a.Claims == nil {
			a.Claims = map[string]OneOf{}
		}
		a.Claims[name] = NewOneOf(claims[name])
	}
	return nil
}

func checkName(name string) error {
	if strings.TrimSpace(name) != name ||
		strings.ContainsFunc(name, func(r rune) bool { return r != ' ' && checkText("", string(r)) != nil }) {
		return fmt.Errorf("the name %q begins or ends with white space, or holds a control character", name)
	}
	return nil
}

// hostForm matches the host of an issuer, with or without a port. Any other host could never match
// a certificate.
var hostForm = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

func checkIssuer(issuer string) error {
	if issuer == "" {
		return errors.New("it has no issuer: set issuer, or the flag --certificate-oidc-issuer. Without one, any " +
			"identity provider could confirm the subject")
	}
	if err := checkText("issuer", issuer); err != nil {
		return err
	}
	u, err := url.Parse(issuer)
	if err != nil || !hostForm.MatchString(u.Host) || u.User != nil || !strings.HasPrefix(issuer, "https://") &&
		!strings.HasPrefix(issuer, "http://") {
		return fmt.Errorf("issuer %q is not the address of an OIDC issuer, as https://accounts.example is", issuer)
	}
	if strings.Contains(issuer, "*") {
		return fmt.Errorf("issuer %q holds a wildcard, and issuers are compared exactly", issuer)
	}
	if u.Scheme == "http" && u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" && u.Hostname() != "::1" {
		return fmt.Errorf("issuer %q does not use https", issuer)
	}
	return nil
}

// Revoked holds the revocations of a policy.
type Revoked struct {
	Messages     map[string]bool      // by digest
	Certificates map[string]bool      // by fingerprint
	Before       map[string]time.Time // by authority
}

func (p *Rules) revoke(r RevocationConfig) error {
	signer := r.Authority != "" || r.SignedBefore != ""
	switch {
	case r.MessageDigest != "" && r.Certificate == "" && !signer:
		return revokeDigest(p.Revoked.Messages, r.MessageDigest)
	case r.Certificate != "" && r.MessageDigest == "" && !signer:
		return revokeDigest(p.Revoked.Certificates, r.Certificate)
	case !signer || r.MessageDigest != "" || r.Certificate != "":
		return errors.New("set either messageDigest, or certificate, or authority and signedBefore")
	}
	before, err := exception.ParseTime(r.SignedBefore)
	if err != nil {
		return fmt.Errorf("signedBefore: %w", err)
	}
	if !p.has(r.Authority) {
		return fmt.Errorf("there is no authority called %q", r.Authority)
	}
	if before.After(p.Revoked.Before[r.Authority]) {
		p.Revoked.Before[r.Authority] = before
	}
	return nil
}

func revokeDigest(list map[string]bool, text string) error {
	digits, ok := strings.CutPrefix(text, "sha256:")
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != sha256.Size {
		return fmt.Errorf("%q is not sha256: and 64 hexadecimal digits", text)
	}
	list[Fingerprint(raw)] = true
	return nil
}

// Fingerprint writes a SHA-256 digest as revocations do.
func Fingerprint(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }
