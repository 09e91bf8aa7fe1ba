//go:build e2e

package guard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestCertificateRotation: while the certificate is repeatedly replaced, as kubelet replaces
// mounted files, every request gets an answer.
func TestCertificateRotation(t *testing.T) {
	ca := newAuthority(t)
	i := settings{mounted: ca}.run(t)
	i.register(t)
	s := pour(t, namespace(t))
	for range 3 {
		s.flows(t, i, 20)
		mount(t, i.dir, ca.certifies(t))
		i.until(t, "the new certificate", func(context.Context) error { return i.serves(filepath.Join(i.dir, "tls.crt")) })
		i.until(t, "the metric of its end", func(ctx context.Context) error { return i.measuresEnd(ctx, filepath.Join(i.dir, "tls.crt")) })
	}
	// A certificate without its key is invalid: the old pair stays.
	mount(t, i.dir, map[string][]byte{"tls.crt": ca.certifies(t)["tls.crt"], "tls.key": []byte("none")})
	s.flows(t, i, 20)
	s.ends(t)
}

// serves returns nil if the guard uses the certificate of a file.
func (i *instance) serves(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	conn, err := tls.Dial("tcp", i.webhook, &tls.Config{InsecureSkipVerify: true}) // #nosec G402 -- it is looked at
	if err != nil {
		return err
	}
	defer conn.Close()
	shown := conn.ConnectionState().PeerCertificates[0].Raw
	if block, _ := pem.Decode(text); block == nil || string(block.Bytes) != string(shown) {
		return errors.New("it shows another one")
	}
	return nil
}

// measuresEnd returns nil if the metrics have the expiry of a file's certificate.
func (i *instance) measuresEnd(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return errors.New("it is no certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	return i.measures(ctx, fmt.Sprintf(`polex_guard_certificate_expiry_timestamp_seconds{file="tls-cert"} %v`, float64(certificate.NotAfter.Unix())))
}

// TestSelfManagedRotation: a guard that manages its certificate makes a new one when it is deleted,
// with the same authority, and every request gets an answer.
func TestSelfManagedRotation(t *testing.T) {
	i := runSelfManaged(t)
	s := pour(t, namespace(t))
	s.flows(t, i, 20)
	before := secretData(t, certificateSecret)
	do(t, cluster.Request{Method: http.MethodPatch, Path: certificateSecret, ContentType: "application/merge-patch+json",
		Body: []byte(`{"data":{"tls.crt":null,"tls.key":null}}`)}).want(t, http.StatusOK)
	i.until(t, "the guard to make another certificate", func(context.Context) error {
		if after := secretData(t, certificateSecret); len(after["tls.crt"]) == 0 || string(after["tls.crt"]) == string(before["tls.crt"]) {
			return errors.New("there is none")
		}
		return nil
	})
	mount(t, i.dir, secretData(t, certificateSecret))
	i.until(t, "the new certificate", func(context.Context) error { return i.serves(filepath.Join(i.dir, "tls.crt")) })
	s.flows(t, i, 20)
	s.ends(t)
}
