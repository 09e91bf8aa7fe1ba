package policyfile

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
	TypeURI   = "uri"
	TypeEmail = "email"
)

// Subject matches the names in an authority's certificates.
type Subject struct {
	Exact   OneOf
	Pattern *regexp.Regexp // instead of Exact
	Type    string
}

// Matches compares the subject of a certificate and its type. If it differs, why states the
// difference.
func (s *Subject) Matches(subject, typ string) (is bool, why string) {
	switch {
	case s.Pattern == nil && !s.Exact.Has(subject):
		return false, fmt.Sprintf("the subject of the certificate is %q, not %s", subject, s.Exact.Quoted())
	case s.Pattern != nil && !s.Pattern.MatchString(subject):
		return false, fmt.Sprintf("the subject of the certificate is %q, which does not match %q", subject, s.Pattern)
	case typ != s.Type:
		return false, fmt.Sprintf("the subject of the certificate has the type %s, not %s", typ, s.Type)
	}
	return true, ""
}

func newSubject(c AuthorityConfig) (*Subject, error) {
	switch {
	case c.Subject == "" && c.SubjectRegexp == "":
		return nil, errors.New("it has no subject (--certificate-identity): without one, every user of the issuer " +
			"could sign")
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

func exactSubject(text string) (*Subject, error) {
	if err := checkText("subject", text); err != nil {
		return nil, err
	}
	switch {
	case strings.ContainsAny(text, "*?"):
		return nil, fmt.Errorf("subject %q holds a wildcard, and subjects are compared exactly: use subjectRegexp",
			text)
	case uriForm.MatchString(text):
		return &Subject{Exact: NewOneOf([]string{text}), Type: TypeURI}, nil
	case emailForm.MatchString(text) && !strings.Contains(text, "://"):
		return &Subject{Exact: NewOneOf([]string{text}), Type: TypeEmail}, nil
	default:
		return nil, fmt.Errorf("subject %q is neither an address such as https://github.com/… nor a mailbox such "+
			"as anna@acme.example", text)
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
