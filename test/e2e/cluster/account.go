package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// KubeconfigOf writes a kubeconfig for a ServiceAccount with its permissions. It is valid for a
// month.
func (c *Cluster) KubeconfigOf(ctx context.Context, namespace, account, file string) error {
	answer, err := c.Do(ctx, Request{
		Method: http.MethodPost, Path: fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%s/token", namespace, account),
		Body: []byte("{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, spec: {expirationSeconds: 2592000}}"),
	})
	if err != nil {
		return err
	}
	if err := answer.expect(http.StatusCreated); err != nil {
		return fmt.Errorf("ask for a token of %s/%s: %w", namespace, account, err)
	}
	var made struct{ Status struct{ Token string } }
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		return fmt.Errorf("read the token of %s/%s: %w", namespace, account, err)
	}
	return write(file, c.kubeconfig(made.Status.Token))
}

// clientCA is the file with the CA of client certificates.
const clientCA = "clients.crt"

func (c *Cluster) makeClientCA() (err error) {
	if c.clientKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clients"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, c.clientKey.Public(), c.clientKey)
	if err != nil {
		return err
	}
	if c.clientCA, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	return write(filepath.Join(c.options.Dir, clientCA), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

// CertifiedKubeconfig returns a kubeconfig of an administrator with a client certificate in it, as
// kubeadm writes one.
func (c *Cluster) CertifiedKubeconfig(expires time.Time) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "certified", Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: expires, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, c.clientCA, key.Public(), c.clientKey)
	if err != nil {
		return "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	inFile := func(kind string, der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	const token = "unused"
	return strings.Replace(c.kubeconfig(token), fmt.Sprintf("token: %q", token),
		"client-certificate-data: "+inFile("CERTIFICATE", der)+", client-key-data: "+inFile("PRIVATE KEY", private), 1), nil
}
