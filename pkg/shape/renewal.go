package shape

import (
	"fmt"

	"github.com/polex-dev/polex/pkg/exception"
)

// Reasons of findings.
const (
	reasonBadRenewal      = "bad-renewal"
	reasonTooManyRenewals = "too-many-renewals"
)

var renewalCheck = check{
	Title: "Renewal",
	About: `Finds an exception that renews another one more often than is allowed, or that does not say
properly which. The number is the exception's own word until it is held against the signed
predecessor, which signing does when it promotes: a renewal that names another message,
skips a number or exempts something else is not signed.`,
	Reasons: []Reason{
		{Name: reasonBadRenewal, Doc: "what the exception says of the one that it renews cannot be read", Fixed: true},
		{Name: reasonTooManyRenewals, Doc: "the exception has been renewed more often than is allowed"},
	},
	Run: (*subject).renewal,
}

func (s *subject) renewal() {
	said, err := s.Said.Renewal()
	if err != nil {
		at := s.Said.Renews.Path
		if s.Said.Renews.Text == "" {
			at = s.Said.RenewalNumber.Path
		}
		s.find(reasonBadRenewal, at, err.Error(), "polex-request --renew writes "+exception.AnnotationRenews+" and "+exception.AnnotationRenewal+" both")
		return
	}
	if most := s.config.Renewals.Max; most > 0 && said.Number > most {
		s.find(reasonTooManyRenewals, s.Said.RenewalNumber.Path, fmt.Sprintf("this is renewal %d, and %d are allowed in a row", said.Number, most), "mend what needs the exception, or have it decided anew")
	}
}

// renews reports whether the exception says that it renews another one.
func (s *subject) renews() bool { return s.Said.Renews.Text != "" || s.Said.RenewalNumber.Text != "" }
