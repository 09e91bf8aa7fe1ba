package trust

import (
	"cmp"
	"crypto"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Authority is a trusted signer: a keyless identity, a name in certificates of a private
// certificate authority, or a public key. Evidence of one type never counts for another.
type Authority struct {
	name   string
	limits limits

	// A keyless identity has an issuer and a subject. A name that a private certificate authority
	// certifies has that authority and a subject.
	issuer    string
	authority *CertificateAuthority
	subject   *subject
	claims    map[string]string

	key        *publicKey
	withoutLog bool
}

// Name returns the name of the authority in reports.
func (a *Authority) Name() string { return a.name }

// String describes the signers that the authority stands for, in one line.
func (a *Authority) String() string {
	if a.key != nil {
		return fmt.Sprintf("public key sha256:%x", a.key.fingerprint)
	}
	text := a.subject.exact
	if a.subject.pattern != nil {
		text = fmt.Sprintf("subjects that match %s", a.subject.pattern)
	}
	if a.authority != nil {
		return fmt.Sprintf("%s, certificate authority %s", text, a.authority)
	}
	text += ", issuer " + a.issuer
	for _, name := range claimOrder {
		if want, asked := a.claims[name]; asked {
			text += fmt.Sprintf(", %s %s", name, want)
		}
	}
	return text
}

// Key returns the authority's public key, or nil when it signs by certificates.
func (a *Authority) Key() crypto.PublicKey {
	if a.key == nil {
		return nil
	}
	return a.key.key
}

// SameKey reports whether two authorities have one public key.
func (a *Authority) SameKey(other *Authority) bool {
	return a.key != nil && other.key != nil && a.key.fingerprint == other.key.fingerprint
}

// WithoutLog reports whether signatures of the key count without a log entry.
func (a *Authority) WithoutLog() bool { return a.withoutLog }

// CertificateAuthority returns the private certificate authority that issues the authority's
// certificates. It is nil for Fulcio and for a key. Authorities with the same chain return the same
// pointer.
func (a *Authority) CertificateAuthority() *CertificateAuthority { return a.authority }

// Identity is the identity in a verified certificate.
type Identity struct {
	// CertificateAuthority is the certificate authority of the trust policy that issued the
	// certificate. It is nil for one of the trusted root, a Fulcio.
	CertificateAuthority *CertificateAuthority

	Issuer  string // the OIDC issuer that authenticated the subject
	Subject string
	// Type is the type of the subject alternative name: "uri" or "email".
	Type   string
	Claims map[string]string // Fulcio's extensions, from [Claims]
}

// Signer returns a text that identifies the signer. One signer counts once, also with several
// certificates. The same name by two private certificate authorities is one signer.
func (id Identity) Signer() string {
	if id.CertificateAuthority != nil {
		return "certified " + id.Type + " " + id.Subject
	}
	return "keyless " + id.Issuer + " " + id.Subject
}

// Matches reports whether an identity is the authority's. If not, why states the expected and the
// found value.
func (a *Authority) Matches(id Identity) (is bool, why string) {
	switch {
	case a.key != nil:
		return false, "it signs with a key"
	case id.CertificateAuthority != a.authority && a.authority == nil:
		return false, "its certificates are Fulcio's"
	case id.CertificateAuthority != a.authority:
		return false, fmt.Sprintf("its certificates are issued by %s", a.authority)
	case id.Issuer != a.issuer:
		return false, fmt.Sprintf("its issuer is %q, not %q", id.Issuer, a.issuer)
	}
	if is, why := a.subject.matches(id); !is {
		return false, why
	}
	for _, name := range claimOrder {
		if want, asked := a.claims[name]; asked && id.Claims[name] != want {
			return false, fmt.Sprintf("its claim %s is %q, not %q", name, id.Claims[name], want)
		}
	}
	return true, ""
}

// signer returns the [Identity.Signer] of the only possible signer for the authority, or "" if its
// subject is a pattern.
func (a *Authority) signer() string {
	switch {
	case a.key != nil:
		return fmt.Sprintf("key %x", a.key.fingerprint)
	case a.subject.pattern != nil:
		return ""
	default:
		return Identity{CertificateAuthority: a.authority, Issuer: a.issuer, Subject: a.subject.exact, Type: a.subject.kind}.Signer()
	}
}

func newAuthority(c AuthorityConfig) (*Authority, error) {
	identity := c.Issuer != "" || c.Subject != "" || c.SubjectRegexp != "" || len(c.Claims) > 0
	if err := checkName(c.Name); err != nil {
		return nil, err
	}
	a := &Authority{}
	var err error
	switch {
	case c.KeyFile != "" || c.CertificateAuthorityFile != "":
		return nil, errors.New("the file that it names was not read")
	case c.Key != "" && (identity || c.CertificateAuthority != ""):
		return nil, errors.New("it is either a key or an identity, not both")
	case c.Key == "" && c.InsecureWithoutLog:
		return nil, errors.New("insecureWithoutLog is for keys: a certificate proves nothing without a proven signing time")
	case c.Key != "":
		a.withoutLog = c.InsecureWithoutLog
		a.key, err = parseKey(c.Key)
	case c.CertificateAuthority != "":
		err = a.certified(c)
	default:
		err = a.keyless(c)
	}
	if err != nil {
		return nil, err
	}
	if a.limits, err = newLimits(c.Limits); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	a.name = cmp.Or(c.Name, c.Subject, c.SubjectRegexp, "key")
	return a, nil
}

func checkName(name string) error {
	if strings.TrimSpace(name) != name || strings.ContainsFunc(name, func(r rune) bool { return r != ' ' && checkText("", string(r)) != nil }) {
		return fmt.Errorf("the name %q begins or ends with white space, or holds a control character", name)
	}
	return nil
}

func (a *Authority) keyless(c AuthorityConfig) (err error) {
	if err := checkIssuer(c.Issuer); err != nil {
		return err
	}
	a.issuer, a.claims = c.Issuer, map[string]string{}
	if a.subject, err = newSubject(c); err != nil {
		return err
	}
	for name, value := range c.Claims {
		if claimGetters[name] == nil {
			return fmt.Errorf("claim %q is not one of %s", name, strings.Join(claimOrder, ", "))
		}
		if value == "" {
			return fmt.Errorf("claim %s is empty: remove it, or give a value", name)
		}
		a.claims[name] = value
	}
	return nil
}

func (a *Authority) certified(c AuthorityConfig) (err error) {
	if c.Issuer != "" || len(c.Claims) > 0 {
		return errors.New("issuer and claims belong to Fulcio, and a certificateAuthority of your own has neither")
	}
	if a.authority, err = ParseCertificateAuthority(c.CertificateAuthority); err != nil {
		return fmt.Errorf("certificateAuthority: %w", err)
	}
	a.subject, err = newSubject(c)
	return err
}

// hostForm matches the host of an issuer, with or without a port. Any other host could never match
// a certificate.
var hostForm = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

func checkIssuer(issuer string) error {
	if issuer == "" {
		return errors.New("it has no issuer: set issuer, or the flag --certificate-oidc-issuer. Without one, any identity provider could confirm the subject")
	}
	if err := checkText("issuer", issuer); err != nil {
		return err
	}
	u, err := url.Parse(issuer)
	if err != nil || !hostForm.MatchString(u.Host) || u.User != nil || !strings.HasPrefix(issuer, "https://") && !strings.HasPrefix(issuer, "http://") {
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
