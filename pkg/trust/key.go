package trust

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// publicKey is the key of an authority.
type publicKey struct {
	key         crypto.PublicKey
	fingerprint [sha256.Size]byte
}

func parseKey(text string) (*publicKey, error) {
	blocks, err := pemBlocks(text)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if len(blocks) > 1 {
		return nil, fmt.Errorf("key: there are %d here: write an authority for each", len(blocks))
	}
	key, err := cryptoutils.UnmarshalPEMToPublicKey([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if err := CheckStrength(key); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	return &publicKey{key: key, fingerprint: sha256.Sum256(der)}, nil
}

// pemBlocks returns all PEM blocks of a text, or an error if one is incomplete. It ignores text
// around them (RFC 7468).
func pemBlocks(text string) ([]*pem.Block, error) {
	var blocks []*pem.Block
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		blocks = append(blocks, block)
	}
	if begun := strings.Count(text, "-----BEGIN "); len(blocks) == 0 || begun != len(blocks) {
		return nil, errors.New("not a complete PEM file")
	}
	return blocks, nil
}

// CheckStrength accepts Ed25519, ECDSA over P-256, P-384 or P-521, and RSA of 2048 to 4096 bits.
// For any other key it returns an error: weaker keys can be broken, and larger ones make
// verification slow.
func CheckStrength(key crypto.PublicKey) error {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() || key.Curve == elliptic.P521() {
			return nil
		}
		return errors.New("the curve is not one of P-256, P-384 and P-521")
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < 2048 || bits > 4096 {
			return fmt.Errorf("RSA of %d bits; 2048 to 4096 are accepted", bits)
		}
		return nil
	default:
		return fmt.Errorf("the type %T is not one of Ed25519, ECDSA and RSA", key)
	}
}
