package seal

import (
	"strconv"
	"strings"
)

// Prefix begins every annotation of a seal, and only those.
const Prefix = "cosign.sigstore.dev/"

// MaxSignatures is the most signatures that one seal may carry.
const MaxSignatures = 8

// part is one of the annotations of a signature set.
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

// parseKey reads an annotation's key. Only the exact spellings that key writes
// are known: "signature_0", "signature_01" and "message_1" are not.
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

// IsKey reports whether an annotation's key is one that a seal writes.
func IsKey(key string) bool {
	_, index, known := parseKey(key)
	return known && index < MaxSignatures
}
