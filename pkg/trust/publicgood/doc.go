// Package publicgood holds the trusted root of the public-good Sigstore as of [Date], so that
// verification needs no network. It only holds data: pkg/trust parses it, and uses it if a trust
// policy names no trusted root. SOURCE.md states the origin of the file and the way to refresh it.
package publicgood
