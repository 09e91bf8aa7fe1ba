package verify

import protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"

// maxTimestamps is the most timestamps beside one signature: one by each of a few
// authorities. Each costs a chain of certificates to verify, and whoever has any
// signature can have any number of them.
const maxTimestamps = 4

func checkTimestampCount(b *protobundle.Bundle) error {
	n := len(b.GetVerificationMaterial().GetTimestampVerificationData().GetRfc3161Timestamps())
	if n > maxTimestamps {
		return reject(ReasonBadEvidence, "there are %d timestamps beside the signature, and %d are the most", n, maxTimestamps)
	}
	return nil
}
