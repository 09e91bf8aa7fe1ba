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
	Title: "Renewals",
	About: "Finds an exception that is renewed more often than `trust.renewals.max` allows, or that names its " +
		"predecessor incorrectly. This check reads the number of renewals from the annotation. `polex-sign " +
		"promote` compares it with the signed predecessor. It does not sign a renewal that names another " +
		"message, skips a number or exempts something else.",
	Reasons: []Reason{
		{Name: reasonBadRenewal, Doc: "the annotations that name the predecessor are invalid", Fixed: true},
		{Name: reasonTooManyRenewals, Doc: "the exception has more renewals in a row than allowed"},
	},
	Run: (*subject).renewal,
}

func (s *subject) renewal() {
	stated, err := s.Stated.Renewal()
	if err != nil {
		at := s.Stated.Renews.Path
		if s.Stated.Renews.Text == "" {
			at = s.Stated.RenewalNumber.Path
		}
		s.find(reasonBadRenewal, at, err.Error(),
			"run polex-request --renew, which writes "+exception.AnnotationRenews+" and "+exception.AnnotationRenewal)
		return
	}
	if most := s.config.Rules.Renewals.Max; most > 0 && stated.Number > most {
		s.find(reasonTooManyRenewals, s.Stated.RenewalNumber.Path,
			fmt.Sprintf("this is renewal %d in a row, and the maximum is %d (trust.renewals.max)", stated.Number, most),
			"fix the resource, or request a new exception with polex-request")
	}
}

// renews reports whether the exception states that it renews another one.
func (s *subject) renews() bool {
	return s.Stated.Renews.Text != "" || s.Stated.RenewalNumber.Text != ""
}
