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
	"encoding/pem"
	"fmt"
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

	"github.com/polex-dev/polex/test/must"
)

// releases serves GitHub's releases on loopback, and some wrong targets of a redirect. It returns
// the variables for a script, and the checksum of the release's checksums.
func releases(t *testing.T) []string {
	t.Helper()
	files := map[string][]byte{"checksums.txt.sigstore.json": []byte("a bundle")}
	var checksums strings.Builder
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_arm64"} {
		for _, command := range []string{"polex-validate", "polex-verify", "polex-prune", "polex-guard"} {
			name, archive := command+"_1.2.3_"+platform+".tar.gz", archived(t, command)
			fmt.Fprintf(&checksums, "%x  %s\n", sha256.Sum256(archive), name)
			if command == "polex-prune" { // not the one that the checksums are of
				archive = archived(t, command, "another")
			}
			if command != "polex-guard" {
				files[name] = archive
			}
		}
	}
	files["checksums.txt"] = []byte(checksums.String())
	mux := http.NewServeMux()
	to := func(from, target string) {
		mux.HandleFunc(from, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) })
	}
	const folder, assets = "github.com/polex-dev/polex/releases/download/", "release-assets.githubusercontent.com/"
	names := []string{"github.com", "release-assets.githubusercontent.com", "raw.githubusercontent.com", "elsewhere.example"}
	for name, content := range files {
		to(folder+"v1.2.3/"+name, "https://"+assets+name+"?sig=secret")
		mux.HandleFunc(assets+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
	}
	to(folder+"v1.2.4/", "https://elsewhere.example/good")
	to(folder+"v1.2.5/", "https://raw.githubusercontent.com/good")
	to(folder+"v1.2.6/", "https://"+assets+"further")
	to(folder+"v1.2.7/", "http://"+assets+"good")
	to(assets+"further", "https://elsewhere.example/good")
	for _, host := range names[1:] {
		mux.HandleFunc(host+"/good", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(files["checksums.txt"]) })
	}
	return append(play(t, mux, names...), fmt.Sprintf("SHA256=%x", sha256.Sum256(files["checksums.txt"])))
}

// archived returns the archive of a command that prints its name.
func archived(t *testing.T, command string, further ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for _, name := range append([]string{"LICENSE", command}, further...) {
		text := "#!/bin/sh\necho " + name + " of a release\n"
		must.Do(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)),
			Typeflag: tar.TypeReg}))
		must.Get(io.WriteString(archive, text))(t)
	}
	for _, w := range []io.Closer{archive, compressed} {
		must.Do(t, w.Close())
	}
	return b.Bytes()
}

// play starts a server on loopback under names of the Internet, for programs that accept no other
// addresses. It returns the variables for curl: a proxy that connects to this server only, and the
// file with the certificate authority of the names.
func play(t *testing.T, handler http.Handler, names ...string) []string {
	t.Helper()
	certificate, authority, err := certified(names)
	if err != nil {
		t.Fatal(err)
	}
	authorities := filepath.Join(t.TempDir(), "authorities.pem")
	must.Do(t, os.WriteFile(authorities, authority, 0o600))
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(tunnel(server.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	return []string{"HTTPS_PROXY=" + proxy.URL, "CURL_CA_BUNDLE=" + authorities}
}

// tunnel is a proxy that always connects to one address.
func tunnel(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "there is no way without TLS", http.StatusForbidden)
			return
		}
		there, err := net.Dial("tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		here, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		// The client must not send anything before this answer.
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(there, buffered) // either side may close first
			_ = there.Close()
		}()
		go func() {
			_, _ = io.Copy(here, there)
			_ = here.Close()
		}()
	}
}

// certified returns a certificate for names, and its certificate authority in PEM.
func certified(names []string) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("generate key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hosts of a test"}, DNSNames: names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("create certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
