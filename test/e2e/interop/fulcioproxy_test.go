//go:build e2e

package interop

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// detour is a proxy for a command with a fixed address of Fulcio. It connects that address to the
// real Fulcio on loopback, and rejects every other one.
type detour struct {
	url         string // for HTTPS_PROXY
	certificate string // path of a certificate that the command must trust, for SSL_CERT_FILE

	mu      sync.Mutex
	led     int
	refused []string
}

const fixedFulcio = "fulcio.sigstore.dev"

func newDetour(t *testing.T) *detour {
	t.Helper()
	certificate, err := selfSigned(fixedFulcio)
	if err != nil {
		t.Fatal(err)
	}
	fulcio, err := url.Parse(real.FulcioURL)
	if err != nil {
		t.Fatal(err)
	}
	d := &detour{certificate: write(t, "fulcio.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})))}
	inside := &tunnelled{connections: make(chan net.Conn), closed: make(chan struct{})}
	behind := &http.Server{Handler: httputil.NewSingleHostReverseProxy(fulcio), ReadHeaderTimeout: time.Minute}
	go func() {
		_ = behind.Serve(tls.NewListener(inside, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}))
	}()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.lead(w, r, inside) }))
	t.Cleanup(func() {
		front.Close()
		_ = behind.Close() // the front has its connections
	})
	d.url = front.URL
	return d
}

// lead answers a request for a tunnel, and connects it to Fulcio.
func (d *detour) lead(w http.ResponseWriter, r *http.Request, inside *tunnelled) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Method != http.MethodConnect || r.Host != fixedFulcio+":443" {
		d.refused = append(d.refused, r.Method+" "+r.Host)
		http.Error(w, "a test speaks to loopback only", http.StatusForbidden)
		return
	}
	connection, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		d.refused = append(d.refused, err.Error())
		return
	}
	d.led++
	_, _ = fmt.Fprint(connection, "HTTP/1.1 200 OK\r\n\r\n") // the client reports an error
	select {
	case inside.connections <- readAhead{connection, buffered.Reader}:
	case <-inside.closed:
		_ = connection.Close()
	}
}

// tunnelled is a listener for connections through the proxy.
type tunnelled struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (l *tunnelled) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *tunnelled) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *tunnelled) Addr() net.Addr { return &net.TCPAddr{} }

// readAhead is a connection that the proxy has partly read.
type readAhead struct {
	net.Conn
	from *bufio.Reader
}

func (c readAhead) Read(p []byte) (int, error) { return c.from.Read(p) }

func selfSigned(host string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
