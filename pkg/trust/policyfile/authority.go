package policyfile

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Authority is a checked authority. The content of its key or certificate authority is not checked.
type Authority struct {
	Name    string
	Subject *Subject // nil for a key
	Limits  Limits
}

func newAuthority(c AuthorityConfig) (a Authority, err error) {
	identity := c.Issuer != "" || c.Subject != "" || c.SubjectRegexp != "" || len(c.Claims) > 0
	key, authority := c.Key != "" || c.KeyFile != "", c.CertificateAuthority != "" || c.CertificateAuthorityFile != ""
	switch {
	case c.Key != "" && c.KeyFile != "":
		err = errors.New("key and keyFile are both set")
	case c.CertificateAuthority != "" && c.CertificateAuthorityFile != "":
		err = errors.New("certificateAuthority and certificateAuthorityFile are both set")
	case key && (identity || authority):
		err = errors.New("it is either a key or an identity, not both")
	case !key && c.InsecureWithoutLog:
		err = errors.New("insecureWithoutLog is for keys: a certificate proves nothing without a proven signing time")
	case authority && (c.Issuer != "" || len(c.Claims) > 0):
		err = errors.New("issuer and claims belong to Fulcio, and a certificateAuthority of your own has neither")
	case !key && !authority:
		err = checkIssuer(c.Issuer)
	}
	if err == nil {
		err = checkName(c.Name)
	}
	if err == nil && !key {
		a.Subject, err = newSubject(c)
	}
	if err == nil {
		err = checkClaims(c.Claims)
	}
	if err != nil {
		return a, err
	}
	if a.Limits, err = newLimits(c.Limits); err != nil {
		return a, fmt.Errorf("limits: %w", err)
	}
	a.Name = cmp.Or(c.Name, c.Subject, c.SubjectRegexp, "key")
	return a, nil
}

func checkClaims(claims map[string]string) error {
	for _, name := range sortedKeys(claims) {
		if !slices.Contains(Claims, name) {
			return fmt.Errorf("claim %q is not one of %s", name, strings.Join(Claims, ", "))
		}
		if claims[name] == "" {
			return fmt.Errorf("claim %s is empty: remove it, or give a value", name)
		}
	}
	return nil
}

func checkName(name string) error {
	if strings.TrimSpace(name) != name || strings.ContainsFunc(name, func(r rune) bool { return r != ' ' && checkText("", string(r)) != nil }) {
		return fmt.Errorf("the name %q begins or ends with white space, or holds a control character", name)
	}
	return nil
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
