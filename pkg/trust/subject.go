package trust

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// The types of subject alternative name that an authority can have: a URI for a workflow, a mail
// address for a person.
const (
	typeURI   = "uri"
	typeEmail = "email"
)

// subject matches the names in an authority's certificates.
type subject struct {
	exact   string
	pattern *regexp.Regexp // instead of exact
	kind    string
}

// matches compares an identity's subject. If it differs, why states the difference.
func (s *subject) matches(id Identity) (is bool, why string) {
	switch {
	case s.pattern == nil && id.Subject != s.exact:
		return false, fmt.Sprintf("the subject of the certificate is %q, not %q", id.Subject, s.exact)
	case s.pattern != nil && !s.pattern.MatchString(id.Subject):
		return false, fmt.Sprintf("the subject of the certificate is %q, which does not match %q", id.Subject, s.pattern)
	case id.Type != s.kind:
		return false, fmt.Sprintf("the subject of the certificate has the type %s, not %s", id.Type, s.kind)
	}
	return true, ""
}

func newSubject(c AuthorityConfig) (*subject, error) {
	switch {
	case c.Subject == "" && c.SubjectRegexp == "":
		return nil, errors.New("it has no subject (--certificate-identity): without one, every user of the issuer could sign")
	case c.Subject != "" && c.SubjectRegexp != "":
		return nil, errors.New("subject and subjectRegexp are both set")
	case c.Subject != "":
		return exactSubject(c.Subject)
	default:
		return patternSubject(c.SubjectRegexp)
	}
}

var (
	uriForm   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://[^/]`)
	emailForm = regexp.MustCompile(`^[^@]+@[^@]+$`)
)

func exactSubject(text string) (*subject, error) {
	if err := checkText("subject", text); err != nil {
		return nil, err
	}
	switch {
	case strings.ContainsAny(text, "*?"):
		return nil, fmt.Errorf("subject %q holds a wildcard, and subjects are compared exactly: use subjectRegexp", text)
	case uriForm.MatchString(text):
		return &subject{exact: text, kind: typeURI}, nil
	case emailForm.MatchString(text) && !strings.Contains(text, "://"):
		return &subject{exact: text, kind: typeEmail}, nil
	default:
		return nil, fmt.Errorf("subject %q is neither an address such as https://github.com/… nor a mailbox such as anna@acme.example", text)
	}
}

// checkText rejects white space and invisible characters, which names do not contain.
func checkText(what, text string) error {
	for _, r := range text {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return fmt.Errorf("%s %q holds white space or a control character", what, text)
		}
	}
	return nil
}
