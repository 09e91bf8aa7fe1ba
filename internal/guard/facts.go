package guard

import (
	"time"
	"unique"

	"github.com/polex-dev/polex/pkg/verify"
)

// Facts are the verified facts that an answer reports and that the controller keeps for a stored
// object. Certificates and log entries are not among them.
type Facts struct {
	MessageDigest string   // as in verify.Facts
	Signers       []Signer // in the order of the signatures
	// The message is valid from StartsAt until ExpiresAt; zero sets no limit.
	StartsAt, ExpiresAt time.Time
}

// Signer is the signer of one verified signature.
type Signer struct {
	Authority   string // of the trust policy; "": the signature belongs to none
	Subject     string // of the certificate; "" for a key
	WitnessedAt time.Time
}

// factsOf reduces verified facts to those that are kept. Thousands of exceptions have the same few
// signers, so each name is stored once.
func factsOf(verified verify.Facts) Facts {
	facts := Facts{MessageDigest: verified.MessageDigest, StartsAt: verified.StartsAt, ExpiresAt: verified.ExpiresAt}
	if n := len(verified.Signatures); n > 0 {
		facts.Signers = make([]Signer, n)
	}
	for i, s := range verified.Signatures {
		subject := unique.Make(s.Identity.Subject).Value()
		facts.Signers[i] = Signer{Authority: s.Authority, Subject: subject, WitnessedAt: s.WitnessedAt}
	}
	return facts
}

// witnessed returns the earliest log entry or timestamp of the authorities' signatures. It is zero
// if one of these signatures has neither.
func (f Facts) witnessed() time.Time {
	var earliest time.Time
	for _, s := range f.Signers {
		switch {
		case s.Authority == "":
		case s.WitnessedAt.IsZero():
			return time.Time{}
		case earliest.IsZero() || s.WitnessedAt.Before(earliest):
			earliest = s.WitnessedAt
		}
	}
	return earliest
}
