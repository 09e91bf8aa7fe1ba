package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/guard/server"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

// leaf is the content of a certificate.
type leaf struct {
	name  string
	usage []x509.ExtKeyUsage // nil: for servers and clients
	lasts time.Duration      // 0: an hour
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(2 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.certificate)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) issue(t *testing.T, l leaf) tls.Certificate {
	t.Helper()
	if l.lasts == 0 {
		l.lasts = time.Hour
	}
	if l.usage == nil {
		l.usage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: l.name}, DNSNames: []string{l.name}, ExtKeyUsage: l.usage,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(l.lasts), KeyUsage: x509.KeyUsageDigitalSignature,
	}, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// write writes the certificate of the authority to a file.
func (a *authority) write(t *testing.T, file string) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestClientCA: the accepted and the rejected client certificates.
func TestClientCA(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	for name, tc := range map[string]struct {
		shows *tls.Certificate
		names []string
		now   time.Duration // from now
		want  int
	}{
		"no certificate":              {want: http.StatusUnauthorized},
		"ours":                        {shows: new(ours.issue(t, leaf{name: "kube-apiserver"})), want: http.StatusOK},
		"ours, by its name":           {shows: new(ours.issue(t, leaf{name: "kube-apiserver"})), names: []string{"other", "kube-apiserver"}, want: http.StatusOK},
		"ours, by another name":       {shows: new(ours.issue(t, leaf{name: "kubelet"})), names: []string{"kube-apiserver"}, want: http.StatusUnauthorized},
		"ours, by part of the name":   {shows: new(ours.issue(t, leaf{name: "kube-apiserver-x"})), names: []string{"kube-apiserver"}, want: http.StatusUnauthorized},
		"another authority's":         {shows: new(theirs.issue(t, leaf{name: "kube-apiserver"})), want: http.StatusUnauthorized},
		"ours, and it has ended":      {shows: new(ours.issue(t, leaf{name: "kube-apiserver", lasts: -time.Minute})), want: http.StatusUnauthorized},
		"ours, and it ends meanwhile": {shows: new(ours.issue(t, leaf{name: "kube-apiserver"})), now: 90 * time.Minute, want: http.StatusUnauthorized},
		"ours, for servers alone":     {shows: new(ours.issue(t, leaf{name: "kube-apiserver", usage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})), want: http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ca.crt")
			ours.write(t, file)
			clients := &server.ClientCA{File: file, Names: tc.names, Now: func() time.Time { return time.Now().Add(tc.now) }}
			if err := clients.Load(); err != nil {
				t.Fatal(err)
			}
			s := serve(t, server.Config{Handler: clients.Require(http.NotFoundHandler()), TLS: &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert}})
			if tc.shows != nil {
				s.client.Certificates = []tls.Certificate{*tc.shows}
			}
			want := tc.want
			if want == http.StatusOK {
				want = http.StatusNotFound // the answer of the handler behind it
			}
			if got := get(t, s.open(t)); got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
}

// TestClientCAReloads: an authority that was removed is no longer valid, also on an open
// connection. A file that cannot be read changes nothing.
func TestClientCAReloads(t *testing.T) {
	first, second := newAuthority(t), newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	clients := &server.ClientCA{File: file, Now: time.Now}
	s := serve(t, server.Config{Handler: clients.Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), TLS: &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert}})
	s.client.Certificates = []tls.Certificate{first.issue(t, leaf{name: "kube-apiserver"})}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: s.client, ForceAttemptHTTP2: true}}
	asked := func(want int) {
		t.Helper()
		answer, err := client.Get("https://" + s.address + "/admit")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%d, want %d", answer.StatusCode, want)
		}
	}
	if clients.Load() == nil {
		t.Error("there is no file")
	}
	asked(http.StatusUnauthorized) // no file was read before
	first.write(t, file)
	if err := clients.Load(); err != nil {
		t.Fatal(err)
	}
	asked(http.StatusOK)
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if clients.Load() == nil {
		t.Error("the file holds no certificate")
	}
	asked(http.StatusOK)
	second.write(t, file)
	if err := clients.Load(); err != nil {
		t.Fatal(err)
	}
	asked(http.StatusUnauthorized)
}
