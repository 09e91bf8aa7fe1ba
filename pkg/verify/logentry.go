package verify

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"

	kjson "sigs.k8s.io/json"
)

// logEntry is the content of a hashedrekord entry.
type logEntry struct {
	kind, version string
	digest        []byte // SHA-256 of the message
	signature     []byte
	publicKey     []byte // DER of the certificate or key
	isCertificate bool
}

// readEntry reads the body of an entry strictly. It accepts hashedrekord only: such an entry names
// the digest, the signature and the key, and needs no other trusted data.
func readEntry(body []byte) (logEntry, error) {
	if err := checkEntry(body); err != nil {
		return logEntry{}, err
	}
	var b entryBody
	if strict, err := kjson.UnmarshalStrict(body, &b, kjson.DisallowDuplicateFields); err != nil || len(strict) > 0 {
		return logEntry{}, reject(ReasonUnsupportedLogEntry, "the log entry is not a JSON object")
	}
	e := logEntry{kind: b.Kind, version: b.APIVersion}
	if e.kind != "hashedrekord" {
		return logEntry{}, reject(ReasonUnsupportedLogEntry,
			"the log entry is of the kind %q, and only hashedrekord is supported", e.kind)
	}
	switch e.version {
	case rekordV1:
		return readV1(e, &b)
	case rekordV2:
		return readV2(e, &b)
	default:
		return logEntry{}, reject(ReasonUnsupportedLogEntry,
			"the log entry is a hashedrekord of version %q, and only 0.0.1 and 0.0.2 are supported", e.version)
	}
}

// entryBody has the fields of a hashedrekord, in both versions.
type entryBody struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Data struct {
			Hash struct {
				Algorithm string `json:"algorithm"`
				Value     string `json:"value"`
			} `json:"hash"`
		} `json:"data"`
		Signature struct {
			Content   string `json:"content"`
			PublicKey struct {
				Content string `json:"content"`
			} `json:"publicKey"`
		} `json:"signature"`
		V002 struct {
			Data struct {
				Algorithm string `json:"algorithm"`
				Digest    string `json:"digest"`
			} `json:"data"`
			Signature struct {
				Content  string `json:"content"`
				Verifier struct {
					X509Certificate struct {
						RawBytes string `json:"rawBytes"`
					} `json:"x509Certificate"`
					PublicKey struct {
						RawBytes string `json:"rawBytes"`
					} `json:"publicKey"`
				} `json:"verifier"`
			} `json:"signature"`
		} `json:"hashedRekordV002"`
	} `json:"spec"`
}

func readV1(e logEntry, b *entryBody) (logEntry, error) {
	if a := b.Spec.Data.Hash.Algorithm; a != "sha256" {
		return logEntry{}, reject(ReasonUnsupportedLogEntry,
			"the log entry's digest is %q, and only sha256 is supported", a)
	}
	digest, err1 := hex.DecodeString(b.Spec.Data.Hash.Value)
	signature, err2 := base64.StdEncoding.DecodeString(b.Spec.Signature.Content)
	keyPEM, err3 := base64.StdEncoding.DecodeString(b.Spec.Signature.PublicKey.Content)
	block, _ := pem.Decode(keyPEM)
	if err1 != nil || err2 != nil || err3 != nil || block == nil {
		return logEntry{}, reject(ReasonUnsupportedLogEntry, "the log entry is not a complete hashedrekord")
	}
	e.digest, e.signature, e.publicKey = digest, signature, block.Bytes
	e.isCertificate = block.Type == "CERTIFICATE"
	return e, nil
}

func readV2(e logEntry, b *entryBody) (logEntry, error) {
	v002 := &b.Spec.V002
	if a := v002.Data.Algorithm; a != "SHA2_256" {
		return logEntry{}, reject(ReasonUnsupportedLogEntry,
			"the log entry's digest is %q, and only SHA2_256 is supported", a)
	}
	digest, err1 := base64.StdEncoding.DecodeString(v002.Data.Digest)
	signature, err2 := base64.StdEncoding.DecodeString(v002.Signature.Content)
	certificate := v002.Signature.Verifier.X509Certificate.RawBytes
	e.isCertificate = certificate != ""
	if !e.isCertificate {
		certificate = v002.Signature.Verifier.PublicKey.RawBytes
	}
	key, err3 := base64.StdEncoding.DecodeString(certificate)
	if err1 != nil || err2 != nil || err3 != nil || len(key) == 0 {
		return logEntry{}, reject(ReasonUnsupportedLogEntry, "the log entry is not a complete hashedrekord")
	}
	e.digest, e.signature, e.publicKey = digest, signature, key
	return e, nil
}

// checkEntries checks that there is exactly one log entry, and that it names this message, this
// signature and this certificate (or this key if certificate is nil).
func checkEntries(entries []*protorekor.TransparencyLogEntry, digest [sha256.Size]byte, signature, certificate []byte,
	key crypto.PublicKey) error {
	if len(entries) == 0 {
		return reject(ReasonNoLogEntry, "%s", errNoEntry)
	}
	if len(entries) > 1 {
		return reject(ReasonMalformedSignature, "there are %d log entries for one signature", len(entries))
	}
	e, err := readEntry(entries[0].GetCanonicalizedBody())
	if err != nil {
		return err
	}
	if kv := entries[0].GetKindVersion(); kv.GetKind() != e.kind || kv.GetVersion() != e.version {
		return reject(ReasonLogEntryMismatch, "the bundle states that its log entry is %s %s, and it is a %s %s",
			kv.GetKind(), kv.GetVersion(), e.kind, e.version)
	}
	if err := checkForm(entries[0], e.version); err != nil {
		return err
	}
	if !bytes.Equal(e.digest, digest[:]) {
		return reject(ReasonLogEntryMismatch, "the log entry belongs to another message")
	}
	if !bytes.Equal(e.signature, signature) {
		return reject(ReasonLogEntryMismatch, "the log entry belongs to another signature")
	}
	signer := certificate
	if certificate == nil {
		if signer, err = x509.MarshalPKIXPublicKey(key); err != nil {
			return err
		}
	}
	if e.isCertificate != (certificate != nil) || !bytes.Equal(e.publicKey, signer) {
		return reject(ReasonLogEntryMismatch, "the log entry belongs to another certificate or key")
	}
	return nil
}
