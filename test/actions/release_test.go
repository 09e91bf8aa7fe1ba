package actions_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hosts are those that the server of releases answers for.
var hosts = []string{"github.com", "release-assets.githubusercontent.com", "raw.githubusercontent.com", "elsewhere.example"}

// releases plays GitHub's releases on loopback. A script reaches it as it reaches
// GitHub from behind a proxy: by HTTPS_PROXY, under GitHub's own names, with a
// certificate by an authority that CURL_CA_BUNDLE names. It returns these
// variables, and the checksum of the one archive there is.
func releases(t *testing.T) []string {
	t.Helper()
	archive := archived(t)
	asset := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) }
	to := func(target string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) }
	}
	mux := http.NewServeMux()
	const folder = "github.com/polex-dev/polex/releases/download/"
	mux.HandleFunc(folder+"v1.2.3/polex_1.2.3_linux_amd64.tar.gz", to("https://release-assets.githubusercontent.com/good?sig=secret"))
	mux.HandleFunc(folder+"v1.2.3/polex_1.2.3_linux_arm64.tar.gz", to("https://release-assets.githubusercontent.com/good?sig=secret"))
	mux.HandleFunc(folder+"v1.2.4/", to("https://elsewhere.example/good"))
	mux.HandleFunc(folder+"v1.2.5/", to("https://raw.githubusercontent.com/good"))
	mux.HandleFunc(folder+"v1.2.6/", to("https://release-assets.githubusercontent.com/further"))
	mux.HandleFunc(folder+"v1.2.7/", to("http://release-assets.githubusercontent.com/good"))
	mux.HandleFunc("release-assets.githubusercontent.com/further", to("https://elsewhere.example/good"))
	for _, host := range hosts[1:] {
		mux.HandleFunc(host+"/good", asset)
	}
	server := httptest.NewUnstartedServer(mux)
	certificate, bundle := certified(t, hosts)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(tunnel(server.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	digest := sha256.Sum256(archive)
	return []string{"HTTPS_PROXY=" + proxy.URL, "CURL_CA_BUNDLE=" + bundle, "SHA256=" + hex.EncodeToString(digest[:])}
}

// tunnel is a proxy whose every way leads to one address.
func tunnel(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "without TLS", http.StatusForbidden)
			return
		}
		there, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		for from, to := range map[net.Conn]net.Conn{here: there, there: here} {
			go func() {
				_, _ = io.Copy(to, from)
				_ = to.Close()
			}()
		}
	}
}

// certified returns a certificate for names, and the file of who signed it.
func certified(t *testing.T, names []string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "releases"}, DNSNames: names, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, bundle
}

// archived is a release with a command that says who it is.
func archived(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for _, name := range []string{"LICENSE", "polex-validate", "polex-verify"} {
		text := strings.ReplaceAll("#!/bin/sh\necho NAME of a release\n", "NAME", name)
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []io.Closer{archive, compressed} {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
