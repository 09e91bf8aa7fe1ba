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

// maxCA is the maximum number of bytes of a file of certificates.
const maxCA = 1 << 20

// ClientCA authenticates clients. It accepts client certificates that an authority in a file has
// issued. Its zero value accepts none.
type ClientCA struct {
	File string
	// Names are the accepted common names; empty accepts all.
	Names []string
	Now   func() time.Time

	roots atomic.Pointer[x509.CertPool]
}

// Load reads the file. After an error, the previous authorities stay valid.
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

// Require answers clients with an accepted certificate and rejects all others. It checks every
// request and not only the handshake, for two reasons. Other clients than the API server may use
// other paths of the same server. And a certificate that expires, or an authority that is removed,
// must not stay valid on an open connection.
//
// The handshake proves that the client has the key. It has to request a certificate
// (tls.RequestClientCert).
func (c *ClientCA) Require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.check(r); err != nil {
			w.Header().Set("Connection", "close") // the next connection may use another certificate
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
