package verify_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/test/expect"
)

// rekordV2 returns the body of a hashedrekord of version 0.0.2 as a tree.
func rekordV2(digest []byte, sig seal.Signature, keyDER []byte) object {
	text := base64.StdEncoding.EncodeToString
	verifier := object{"keyDetails": "PKIX_ECDSA_P256_SHA_256"}
	if sig.Certificate != nil {
		verifier["x509Certificate"] = object{"rawBytes": text(sig.Certificate)}
	} else {
		verifier["publicKey"] = object{"rawBytes": text(keyDER)}
	}
	return object{"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": object{"hashedRekordV002": object{
		"data":      object{"algorithm": "SHA2_256", "digest": text(digest)},
		"signature": object{"content": text(sig.Signature), "verifier": verifier},
	}}}
}

// logV2 adds a set to the Rekor v2 log, with any body.
func (w *world) logV2(t testing.TB, s set, digest []byte, sig seal.Signature) *protorekor.TransparencyLogEntry {
	t.Helper()
	raw := s.rawBody
	if raw != nil {
		raw = append(bytes.Clone(raw), bytes.Repeat([]byte(" "), int(again.Add(1)))...)
	} else {
		tree := rekordV2(digest, sig, publicDER(t, s.key))
		if s.bodyV2 != nil {
			s.bodyV2(tree)
		}
		raw = expect.Value(json.Marshal(tree))(t) // sorted and without white space (RFC 8785)
	}
	return expect.Value(w.ForgeEntryV2(t.Context(), raw))(t)
}

func (w *world) bundleV2(t testing.TB, s set, digest []byte, sig seal.Signature) *protobundle.Bundle {
	t.Helper()
	entries := []*protorekor.TransparencyLogEntry{w.logV2(t, s, digest, sig)}
	return w.finished(t, s, bundleOf(&protobundle.VerificationMaterial{TlogEntries: entries}, digest, sig))
}
