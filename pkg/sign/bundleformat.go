package sign

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
