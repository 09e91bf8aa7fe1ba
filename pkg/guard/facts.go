package guard

import (
	"time"
	"unique"

	"github.com/polex-dev/polex/pkg/verify"
)

// Facts are what an answer tells of what was verified, and all that is kept of it for a
// stored object. The certificates and the log entries are not.
type Facts struct {
	MessageDigest string   // as verify.Facts has it
	Signers       []Signer // in the order of the signatures
	// StartsAt and ExpiresAt are the times between which the message counts; zero is
	// always and never.
	StartsAt, ExpiresAt time.Time
}

// Signer is who made one signature that was verified.
type Signer struct {
	Authority   string // of the trust policy; "" where the signature counts for none
	Subject     string // that the certificate names; "" for a key
	WitnessedAt time.Time
}

// factsOf leaves of what was verified what is told. Thousands of exceptions have the
// same few signers, whose names are kept once.
func factsOf(verified verify.Facts) Facts {
	facts := Facts{MessageDigest: verified.MessageDigest, StartsAt: verified.StartsAt, ExpiresAt: verified.ExpiresAt}
	if n := len(verified.Signatures); n > 0 {
		facts.Signers = make([]Signer, n)
	}
	for i, s := range verified.Signatures {
		facts.Signers[i] = Signer{Authority: s.Authority, Subject: unique.Make(s.Identity.Subject).Value(), WitnessedAt: s.WitnessedAt}
	}
	return facts
}

// witnessed is the time from which the authorities' signatures count: the
// earliest that was witnessed, or zero when nobody witnessed one of them.
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
