package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// logKey is the key of a transparency log. The digest of the public key identifies the log.
type logKey struct {
	private *ecdsa.PrivateKey
	public  []byte // PKIX, DER
	id      [sha256.Size]byte
}

func newLogKey() (*logKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate log key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encode log key: %w", err)
	}
	return &logKey{private: key, public: der, id: sha256.Sum256(der)}, nil
}

func (k *logKey) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.public})
}
