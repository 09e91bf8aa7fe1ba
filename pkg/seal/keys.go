package seal

import (
	"strconv"
	"strings"
)

// Prefix is the prefix of all signature annotations. No other annotation may have it.
const Prefix = "cosign.sigstore.dev/"

// MaxSignatures is the maximum number of signatures of one document.
const MaxSignatures = 8

// part is the kind of a signature annotation.
type part string

const (
	partMessage     part = "message"
	partSignature   part = "signature"
	partCertificate part = "certificate"
	partBundle      part = "bundle"
	partBundleV03   part = "bundle.v0.3"
)

func (p part) key(index int) string {
	if index == 0 {
		return Prefix + string(p)
	}
	return Prefix + string(p) + "_" + strconv.Itoa(index)
}

// parseKey parses an annotation's key. It accepts only the spellings that the method key writes,
// not "signature_0", "signature_01" or "message_1".
func parseKey(key string) (p part, index int, known bool) {
	name, ok := strings.CutPrefix(key, Prefix)
	if !ok {
		return "", 0, false
	}
	base, suffix, numbered := strings.Cut(name, "_")
	if numbered {
		n, err := strconv.Atoi(suffix)
		if err != nil || n < 1 || strconv.Itoa(n) != suffix {
			return "", 0, false
		}
		index = n
	}
	switch p = part(base); p {
	case partMessage:
		return p, index, !numbered
	case partSignature, partCertificate, partBundle, partBundleV03:
		return p, index, true
	default:
		return "", 0, false
	}
}

// IsKey reports whether an annotation's key is one of a signature.
func IsKey(key string) bool {
	_, index, known := parseKey(key)
	return known && index < MaxSignatures
}
