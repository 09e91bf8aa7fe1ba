//go:build e2e

package guard

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// authority issues certificates for guards on loopback.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := newTemplate("polex-guard-ca")
	template.KeyUsage, template.IsCA = x509.KeyUsageCertSign, true
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	return &authority{cert: must.Get(x509.ParseCertificate(der))(t), key: key}
}

func newTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour), BasicConstraintsValid: true,
	}
}

// certificate returns the authority's own certificate.
func (a *authority) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// certifies makes a new key and its certificate, as files.
func (a *authority) certifies(t *testing.T) map[string][]byte {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := newTemplate("polex-guard")
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key))(t)
	private := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	return map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// mount writes files like kubelet and replaces the existing ones at once: each is a link through a
// folder that is a link too.
func mount[T string | []byte](t *testing.T, dir string, files map[string]T) {
	t.Helper()
	folder := must.Get(os.MkdirTemp(dir, "..data-"))(t)
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	next, data := filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")
	before, _ := os.Readlink(data)
	must.Do(t, errors.Join(os.Symlink(filepath.Base(folder), next), os.Rename(next, data)))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name))
		must.That(t, err == nil || errors.Is(err, os.ErrExist), "%v", err)
	}
	if before != "" {
		must.Do(t, os.RemoveAll(filepath.Join(dir, before)))
	}
}

// mountSecret waits until the guard has put a certificate into its Secret, and mounts it.
func (i *instance) mountSecret(t *testing.T, secret, dir string) {
	t.Helper()
	i.until(t, "the guard to make a certificate", func(context.Context) error {
		return expect.Unless(len(secretData(t, secret)["tls.crt"]) != 0, "there is none")
	})
	mount(t, dir, secretData(t, secret))
}

// secretData returns the data of a Secret.
func secretData(t *testing.T, secret string) map[string][]byte {
	t.Helper()
	var object struct{ Data map[string][]byte }
	decode(t, read(t, secret), &object)
	return object.Data
}

const (
	secretName = "polex-guard-certificate"
	secrets    = "/api/v1/namespaces/default/secrets"

	certificateSecret = secrets + "/" + secretName
)

// runSelfManaged starts a guard that keeps its certificate in a Secret, and waits until the API server calls it.
func runSelfManaged(t *testing.T) *instance {
	t.Helper()
	post(t, secrets, fmt.Appendf(nil, "{apiVersion: v1, kind: Secret, metadata: {name: %s}}", secretName)).want(t,
		http.StatusCreated)
	deleteAfter(t, certificateSecret)
	nobody := &instance{webhook: "127.0.0.1:1"}
	post(t, webhooks, []byte(nobody.registration("localhost"))).want(t, http.StatusCreated)
	t.Cleanup(func() { unregister(t) })
	i := settings{itself: true}.run(t)
	patched(t, webhooks+"/polex-guard", "replace", "/webhooks/0/clientConfig/url", `"https://localhost`+i.webhook[len("127.0.0.1"):]+`/admit"`)
	i.asked(t)
	return i
}

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
	block, _ := pem.Decode(text)
	return expect.Unless(block != nil && string(block.Bytes) == string(shown), "it shows another one")
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
	return i.measures(fmt.Sprintf(`polex_guard_certificate_expiry_timestamp_seconds{file="tls-cert"} %v`,
		float64(certificate.NotAfter.Unix())))(ctx)
}

// TestSelfManagedRotation: a guard that manages its certificate registers it, and the API server calls the guard. It
// makes a new one when that is deleted, with the same authority, and every request gets an answer.
func TestSelfManagedRotation(t *testing.T) {
	i := runSelfManaged(t)
	s := pour(t, namespace(t))
	s.flows(t, i, 20)
	i.renews(t, certificateSecret, i.dir, func() {})
	s.flows(t, i, 20)
	s.ends(t)
}

// renews deletes the certificate from its Secret, does something else, and mounts the one that the guard makes.
func (i *instance) renews(t *testing.T, secret, dir string, meanwhile func()) {
	t.Helper()
	before := secretData(t, secret)
	merge(t, secret, `{"data":{"tls.crt":null,"tls.key":null}}`).want(t, http.StatusOK)
	meanwhile()
	i.until(t, "the guard to make another certificate", func(context.Context) error {
		after := secretData(t, secret)["tls.crt"]
		return expect.Unless(len(after) != 0 && !bytes.Equal(after, before["tls.crt"]), "there is none")
	})
	mount(t, dir, secretData(t, secret))
	i.until(t, "the new certificate", func(context.Context) error { return i.serves(filepath.Join(dir, "tls.crt")) })
}
