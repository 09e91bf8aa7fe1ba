package policyfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

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
