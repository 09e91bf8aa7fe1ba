package server

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// maxCA is the most bytes of a file of certificates.
const maxCA = 1 << 20

// ClientCA says whose requests are answered: those of clients with a certificate that
// an authority of a file has signed for clients. Its zero value answers nobody.
type ClientCA struct {
	File string
	// Names are the common names that count; none is that each does.
	Names []string
	Now   func() time.Time

	roots atomic.Pointer[x509.CertPool]
}

// Load reads the file. After an error, the authorities that were read before count on.
func (c *ClientCA) Load() error {
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	if info.Size() > maxCA {
		return fmt.Errorf("%s has more than %d bytes", c.File, maxCA)
	}
	text, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s holds no certificate in PEM", c.File)
	}
	c.roots.Store(roots)
	return nil
}

// Require answers clients whose certificate counts, and nobody else. It is asked for
// each request and not in the handshake: others than the API server may reach other
// paths of the same server, and a certificate that ends, or an authority that goes,
// counts no longer on a connection that is still open. That the client has the key was
// shown in the handshake, which has to ask for a certificate (tls.RequestClientCert).
func (c *ClientCA) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.check(r); err != nil {
			w.Header().Set("Connection", "close") // another one may show another certificate
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (c *ClientCA) check(r *http.Request) error {
	roots := c.roots.Load()
	if roots == nil {
		return errors.New("no authority of client certificates is known (--client-ca)")
	}
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return errors.New("a client certificate is required (--client-ca)")
	}
	between := x509.NewCertPool()
	for _, certificate := range r.TLS.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	leaf := r.TLS.PeerCertificates[0]
	if _, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: c.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return fmt.Errorf("the client certificate is not accepted: %w (--client-ca)", err)
	}
	if name := leaf.Subject.CommonName; len(c.Names) > 0 && !slices.Contains(c.Names, name) {
		return fmt.Errorf("the client certificate names %q, expected %s (--client-name)", name, strings.Join(c.Names, " or "))
	}
	return nil
}
