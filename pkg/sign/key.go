package sign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"github.com/polex-dev/polex/pkg/trust"
)

// WithKey makes a signer with an encrypted private key in cosign's format (cosign.key). Its
// signatures are logged too, which proves their time. It returns an error for a wrong password, and
// for a key that does not sign SHA-256 digests: only ECDSA on P-256 and RSA do.
func WithKey(config Config, keyPEM, password []byte) (*Signer, error) {
	key, err := cosign.LoadPrivateKey(keyPEM, password, nil)
	if err != nil {
		return nil, fmt.Errorf("open private key: %w", err)
	}
	return withSigner(context.Background(), config, key)
}

// kmsForm matches a reference to a key of a KMS or of a hardware token.
var kmsForm = regexp.MustCompile(`^([a-z0-9][a-z0-9-]*)://.+$`)

// IsKMS reports whether a text is a reference to a key for [WithKMS], and not the path of a file.
func IsKMS(text string) bool { return strings.Contains(text, "://") }

// WithKMS makes a signer with a key outside of this process, "<plugin>://<key>". The program
// sigstore-kms-<plugin> on the PATH signs, by sigstore's protocol for KMS plug-ins. It is started
// once for the public key and once for each message, and the context of that call ends it. The keys are those of
// [WithKey].
func WithKMS(ctx context.Context, config Config, reference string) (*Signer, error) {
	m := kmsForm.FindStringSubmatch(reference)
	if m == nil {
		return nil, fmt.Errorf("%q is not a reference to a key such as awskms://alias/polex: the plug-in has small "+
			"letters, digits and dashes", reference)
	}
	key, err := cliplugin.LoadSignerVerifier(ctx, reference, crypto.SHA256)
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("the program %s%s is not on the PATH: install the KMS plug-in %s",
			cliplugin.PluginBinaryPrefix, m[1], m[1])
	}
	if err != nil {
		return nil, fmt.Errorf("open key %s: %w", reference, err)
	}
	return withSigner(ctx, config, key)
}

func withSigner(ctx context.Context, config Config, key signature.Signer) (*Signer, error) {
	public, err := key.PublicKey(options.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("read public key: %w", err)
	}
	pair, err := newKeypair(key, public)
	if err != nil {
		return nil, err
	}
	text, err := pair.GetPublicKeyPem()
	if err != nil {
		return nil, err
	}
	return newSigner(config, pair, nil, trust.AuthorityConfig{Name: "self", Key: text})
}

// keypair lets the library sign with this key.
type keypair struct {
	key     signature.Signer
	public  crypto.PublicKey
	kind    string
	details protocommon.PublicKeyDetails
	hint    []byte
}

func newKeypair(key signature.Signer, public crypto.PublicKey) (*keypair, error) {
	k := &keypair{key: key, public: public}
	switch public.(type) {
	case *ecdsa.PublicKey:
		k.kind = "ECDSA"
	case *rsa.PublicKey:
		k.kind = "RSA"
	default:
		return nil, errors.New("the private key is neither ECDSA nor RSA: the log accepts signatures over a SHA-256 " +
			"digest")
	}
	details, err := signature.GetDefaultAlgorithmDetails(public)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	if details.GetHashType() != crypto.SHA256 {
		return nil, fmt.Errorf("the private key signs %s digests, and a signature requires SHA-256: use an ECDSA key "+
			"on P-256, or RSA", details.GetHashType())
	}
	k.details = details.GetSignatureAlgorithm()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	digest := sha256.Sum256(der)
	k.hint = []byte(base64.StdEncoding.EncodeToString(digest[:]))
	return k, nil
}

func (k *keypair) GetHashAlgorithm() protocommon.HashAlgorithm {
	return protocommon.HashAlgorithm_SHA2_256
}
func (k *keypair) GetSigningAlgorithm() protocommon.PublicKeyDetails { return k.details }
func (k *keypair) GetHint() []byte                                   { return k.hint }
func (k *keypair) GetKeyAlgorithm() string                           { return k.kind }
func (k *keypair) GetPublicKey() crypto.PublicKey                    { return k.public }

func (k *keypair) GetPublicKeyPem() (string, error) {
	text, err := cryptoutils.MarshalPublicKeyToPEM(k.public)
	if err != nil {
		return "", fmt.Errorf("write public key: %w", err)
	}
	return string(text), nil
}

// SignData returns the signature and the SHA-256 digest of the data.
func (k *keypair) SignData(ctx context.Context, data []byte) (sig, digest []byte, err error) {
	sig, err = k.key.SignMessage(bytes.NewReader(data), options.WithContext(ctx))
	if err != nil {
		return nil, nil, fmt.Errorf("sign: %w", err)
	}
	sum := sha256.Sum256(data)
	return sig, sum[:], nil
}
