package sign

// BundleFormat is the format of a signature's evidence.
type BundleFormat string

// The formats. Rekor v2 makes no inclusion promise, so [BundleCosign] cannot hold its evidence, and
// [BundleBoth] means [BundleSigstore].
const (
	// BundleBoth writes both formats, for readers of either one; "" means the same.
	BundleBoth BundleFormat = "both"
	// BundleCosign writes the annotation that k8s-manifest-sigstore and Kyverno up to 1.19 read:
	// the bundle of cosign before version 3.
	BundleCosign BundleFormat = "cosign"
	// BundleSigstore writes a Sigstore bundle v0.3 with the inclusion proof and timestamps.
	BundleSigstore BundleFormat = "sigstore"
)
