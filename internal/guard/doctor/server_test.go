package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/polex-dev/polex/internal/guard/doctor"
)

// certificate is the certificate of a server.
type certificate struct {
	name  string        // in addition to 127.0.0.1; "" is the name of the guard
	lasts time.Duration // 0: a year
}

// server is a TLS server in place of a webhook.
type server struct {
	address   string
	authority []byte // PEM
}

func serve(t *testing.T, c certificate) *server {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "polex-guard"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(365 * 24 * time.Hour),
		DNSNames: []string{"polex-guard.polex-system.svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	if c.lasts != 0 {
		template.NotAfter = now.Add(c.lasts)
	}
	if c.name != "" {
		template.DNSNames, template.IPAddresses = []string{c.name}, nil
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}()
		}
	}()
	return &server{address: listener.Addr().String(), authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// asked points a webhook to the server.
func (s *server) asked(w *admissionregistrationv1.ValidatingWebhook) {
	w.ClientConfig.URL, w.ClientConfig.CABundle = new("https://"+s.address), s.authority
}

// closed returns an address without a listener.
func closed(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// dialAs connects to the server under an address that only the DNS of a cluster resolves.
func (s *server) dialAs(want string) doctor.Dial {
	return func(ctx context.Context, address string, config *tls.Config) (*tls.Conn, error) {
		if address != want {
			return nil, fmt.Errorf("it asks %q, not %q", address, want)
		}
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", s.address)
		if err != nil {
			return nil, err
		}
		return conn.(*tls.Conn), nil
	}
}
