package publicgood

import (
	_ "embed"
)

// Source is the origin of the trusted root.
const Source = "npm package @sigstore/tuf 5.0.1, seeds.json, target trusted_root.json"

// Date is the day of the trusted root, in UTC.
const Date = "2026-11-20"

//go:embed trusted_root.json
var trustedRootJSON string

// TrustedRootJSON returns the trusted root as JSON in Sigstore's TrustedRoot format. Each call
// returns a new copy.
func TrustedRootJSON() []byte { return []byte(trustedRootJSON) }
