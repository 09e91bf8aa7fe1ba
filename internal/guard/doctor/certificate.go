package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
)

// reaching limits the time to reach the webhook.
const reaching = 5 * time.Second

// certificate checks the certificate of the webhook as the API server does.
func (k *checkup) certificate(ctx context.Context, subject string, w *admission.ValidatingWebhook) {
	const soon = 7 * 24 * time.Hour // the minimum remaining lifetime of a certificate
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(w.ClientConfig.CABundle) {
		k.report(subject, "bad-ca-bundle", "its caBundle contains no certificate")
		return
	}
	k.bundle(subject, w.ClientConfig.CABundle)
	address, name := addressOf(w)
	ctx, cancel := context.WithTimeout(ctx, reaching)
	defer cancel()
	config := &tls.Config{RootCAs: roots, ServerName: name, Time: k.Now, MinVersion: tls.VersionTLS12}
	conn, err := k.Dial(ctx, address, config)
	var invalid *tls.CertificateVerificationError
	switch {
	case errors.As(err, &invalid):
		k.report(subject, "bad-certificate", "the API server does not accept the certificate of %s: %s", address, err)
		return
	case err != nil:
		k.unknown(subject, fmt.Errorf("reach %s: %w", address, err))
		return
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	for _, cert := range conn.ConnectionState().PeerCertificates {
		if left := cert.NotAfter.Sub(k.Now()); left < soon {
			k.report(subject, "certificate-ends", "the certificate of %q expires at %s", cert.Subject,
				timestamp(cert.NotAfter))
		}
	}
}

// bundle checks the expiry of the CA in a static file.
func (k *checkup) bundle(subject string, text []byte) {
	for block, rest := pem.Decode(text); block != nil && k.Static != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err == nil && cert.NotAfter.Sub(k.Now()) < renewal {
			f := k.report(subject, "certificate-ends", "the CA %q in the static files expires at %s", cert.Subject,
				timestamp(cert.NotAfter))
			f.Hint = "renew the CA on every control plane node: docs/how-to/static-admission.md"
		}
	}
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func dial(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error) {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: reaching}, Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return conn.(*tls.Conn), nil
}
