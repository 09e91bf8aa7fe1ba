package sigstore

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"time"
)

// Files that only the servers read.
const (
	fulcioKeyFile      = "fulcio.key"
	rekorKeyFile       = "rekor.key"
	rekorV2KeyFile     = "rekorv2.key"
	timestampChainFile = "timestamps.pem"
)

// validity is the validity of the chain: the tests take minutes.
const validity = 24 * time.Hour

// authority is Fulcio's chain.
type authority struct {
	root, intermediate *x509.Certificate
	key                *ecdsa.PrivateKey // of the intermediate
}

// logKey is the key of a log.
type logKey struct{ private *ecdsa.PrivateKey }

func newLogKey() (*logKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return &logKey{key}, err
}

func (k *logKey) der() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(k.private) }

// id returns the log's id in entries and timestamps: the digest of its key.
func (k *logKey) id() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(k.private.Public())
	digest := sha256.Sum256(der)
	return digest[:], err
}

// makeKeys makes all keys except that of the timestamp authority, and writes the files for servers
// and tools.
func (s *Sigstore) makeKeys(context.Context, context.Context) error {
	var err error
	if s.fulcio, err = newAuthority(time.Now()); err != nil {
		return err
	}
	for _, key := range []**logKey{&s.ctLog, &s.rekor, &s.rekorV2} {
		if *key, err = newLogKey(); err != nil {
			return err
		}
	}
	for name, key := range map[string]*ecdsa.PrivateKey{
		fulcioKeyFile: s.fulcio.key, rekorKeyFile: s.rekor.private, rekorV2KeyFile: s.rekorV2.private,
	} {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return err
		}
		if err := s.write(name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); err != nil {
			return err
		}
	}
	for path, key := range map[string]*logKey{s.RekorKeyPath: s.rekor, s.RekorV2KeyPath: s.rekorV2, s.CTLogKeyPath: s.ctLog} {
		der, err := x509.MarshalPKIXPublicKey(key.private.Public())
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
			return err
		}
	}
	var chain bytes.Buffer
	for _, certificate := range []*x509.Certificate{s.fulcio.intermediate, s.fulcio.root} {
		if err := pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}); err != nil {
			return err
		}
	}
	return os.WriteFile(s.FulcioChainPath, chain.Bytes(), 0o600)
}

// newAuthority makes a root and an issuing intermediate, like those of the public instance.
func newAuthority(now time.Time) (*authority, error) {
	rootKey, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{Organization: []string{"polex e2e"}, CommonName: name},
			NotBefore: now.Add(-time.Minute), NotAfter: now.Add(validity), IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign}
	}
	rootTemplate := template(1, "fulcio root")
	rootTemplate.MaxPathLen = 1
	root, err := certify(rootTemplate, rootTemplate, rootKey, rootKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		return nil, err
	}
	issuing := template(2, "fulcio intermediate")
	issuing.MaxPathLenZero = true
	issuing.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
	intermediate, err := certify(issuing, root, key, rootKey)
	if err != nil {
		return nil, err
	}
	return &authority{root: root, intermediate: intermediate, key: key}, nil
}

func certify(template, issuer *x509.Certificate, key, issuerKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
