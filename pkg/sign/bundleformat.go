package sign

import (
	"errors"
	"fmt"
)

// BundleFormat says in which form a seal holds the evidence of its signature.
type BundleFormat string

// The formats. A log of Rekor's version 2 promises nothing, so its evidence has
// no form in [BundleCosign], and [BundleBoth] is [BundleSigstore] alone.
const (
	// BundleBoth writes both, so that whoever reads one of them can verify; ""
	// means the same.
	BundleBoth BundleFormat = "both"
	// BundleCosign writes the annotation that k8s-manifest-sigstore and Kyverno
	// up to 1.19 read: cosign's bundle of before version 3.
	BundleCosign BundleFormat = "cosign"
	// BundleSigstore writes a Sigstore bundle v0.3, which holds the log's proof
	// and timestamps.
	BundleSigstore BundleFormat = "sigstore"
)

// check refuses a format that could not hold what is asked for.
func (f BundleFormat) check(version int, stamped bool) error {
	switch f {
	case BundleBoth, BundleSigstore:
		return nil
	case BundleCosign:
		if version == 2 {
			return errors.New("sign: an entry of Rekor's version 2 has no form in cosign's bundle")
		}
		if stamped {
			return errors.New("sign: cosign's bundle holds no timestamp")
		}
		return nil
	default:
		return fmt.Errorf("sign: there is no bundle format %q: %s, %s and %s are known", f, BundleCosign, BundleSigstore, BundleBoth)
	}
}
