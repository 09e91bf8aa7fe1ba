// Package publicgood holds the trusted root of the public-good Sigstore
// instance as it was on [Date], so that verifying needs no network. It is data
// and nothing else: pkg/trust parses it, and a trust policy that names a
// trusted root of its own does not look here. SOURCE.md says where the file is
// from and how to refresh it.
package publicgood
