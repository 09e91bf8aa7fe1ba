package exception

import (
	"fmt"
	"regexp"
	"strconv"
)

// MaxRenewals is the maximum number of renewals in a row.
const MaxRenewals = 998

// Renewal names the exception that another one renews. The zero value is for an exception that
// renews nothing.
type Renewal struct {
	Name   string // of the predecessor, in the same group and namespace
	Digest string // "sha256:" and the digest of its signed message, in hex
	Number int    // of renewals in a row, this one included
}

var renewsForm = regexp.MustCompile(`^([a-z0-9][a-z0-9.-]{0,252})@(sha256:[0-9a-f]{64})$`)

// Renewal returns the predecessor that an exception states. It returns an error if one of the two
// annotations is missing or has an invalid form.
func (e *Exception) Renewal() (Renewal, error) {
	if e.Renews.Text == "" && e.RenewalNumber.Text == "" {
		return Renewal{}, nil
	}
	parts := renewsForm.FindStringSubmatch(e.Renews.Text)
	if parts == nil {
		return Renewal{}, fmt.Errorf("%q does not name a predecessor as name@sha256:digest", Shortened(e.Renews.Text))
	}
	number, err := strconv.Atoi(e.RenewalNumber.Text)
	if err != nil || number < 1 || number > MaxRenewals || strconv.Itoa(number) != e.RenewalNumber.Text {
		return Renewal{}, fmt.Errorf("%q is not a number of renewals from 1 to %d",
			Shortened(e.RenewalNumber.Text), MaxRenewals)
	}
	return Renewal{Name: parts[1], Digest: parts[2], Number: number}, nil
}
