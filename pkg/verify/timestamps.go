package verify

import (
	"encoding/asn1"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
)

// maxTimestamps is the maximum number of timestamps for one signature, enough for a few timestamp
// authorities. Each requires the verification of a certificate chain, and anybody with a signature
// can get more of them.
const maxTimestamps = 4

// Limits of one timestamp. The library that reads it takes quadratic time and memory in its depth.
// A timestamp with its certificates has a few KiB and a dozen levels.
const (
	maxTimestamp       = 16 << 10 // bytes
	maxTimestampLevels = 32
)

func checkTimestampCount(b *protobundle.Bundle) error {
	stamps := b.GetVerificationMaterial().GetTimestampVerificationData().GetRfc3161Timestamps()
	if n := len(stamps); n > maxTimestamps {
		return reject(ReasonBadEvidence, "the signature has %d timestamps, and the maximum is %d", n, maxTimestamps)
	}
	for _, stamp := range stamps {
		if raw := stamp.GetSignedTimestamp(); len(raw) > maxTimestamp || !isDER(raw, maxTimestampLevels) {
			return reject(ReasonBadEvidence, "a timestamp is not DER of %d KiB and %d levels at most", maxTimestamp>>10, maxTimestampLevels)
		}
	}
	return nil
}

// isDER reports whether the values are DER, with at most the given levels of nesting.
func isDER(values []byte, levels int) bool {
	for len(values) > 0 {
		var value asn1.RawValue
		rest, err := asn1.Unmarshal(values, &value)
		if err != nil || levels == 0 || value.IsCompound && !isDER(value.Bytes, levels-1) {
			return false
		}
		values = rest
	}
	return true
}
