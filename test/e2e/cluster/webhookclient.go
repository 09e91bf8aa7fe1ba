package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"time"
)

// WebhookClientName is the common name of the API server's client certificate for webhooks.
const WebhookClientName = "kube-apiserver-webhooks"

// ClientCA returns the path of its certificate authority.
func (c *Cluster) ClientCA() string { return filepath.Join(c.options.Dir, "webhooks-ca.crt") }

// admissionConfiguration makes the API server use a client certificate for webhooks, as in
// docs/reference/guard.md. It returns the path of the file for --admission-control-config-file.
func (c *Cluster) admissionConfiguration() (string, error) {
	at := func(name string) string { return filepath.Join(c.options.Dir, name) }
	if err := c.writeWebhookClient(at("webhooks.crt"), at("webhooks.key")); err != nil {
		return "", err
	}
	if err := write(at("webhooks.kubeconfig"), `apiVersion: v1
kind: Config
users:
  - name: "*"
    user:
      client-certificate: `+at("webhooks.crt")+`
      client-key: `+at("webhooks.key")+`
`); err != nil {
		return "", err
	}
	return at("admission.yaml"), write(at("admission.yaml"), `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: ValidatingAdmissionWebhook
    configuration:
      apiVersion: apiserver.config.k8s.io/v1
      kind: WebhookAdmissionConfiguration
      kubeConfigFile: `+at("webhooks.kubeconfig")+"\n")
}

// writeWebhookClient writes a certificate, its key and its certificate authority.
func (c *Cluster) writeWebhookClient(certificate, private string) error {
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	signer := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "webhooks-ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	root, err := x509.CreateCertificate(rand.Reader, signer, signer, authority.Public(), authority)
	if err != nil {
		return err
	}
	leaf, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: WebhookClientName}, NotBefore: signer.NotBefore, NotAfter: signer.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, signer, key.Public(), authority)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path, kind string
		der        []byte
	}{{c.ClientCA(), "CERTIFICATE", root}, {certificate, "CERTIFICATE", leaf}, {private, "PRIVATE KEY", der}} {
		if err := write(file.path, string(pem.EncodeToMemory(&pem.Block{Type: file.kind, Bytes: file.der}))); err != nil {
			return err
		}
	}
	return nil
}
