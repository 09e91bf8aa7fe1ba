//go:build e2e

package guard

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// TestCertificateRotation: while the certificate is replaced again and again, in the
// way in which kubelet replaces what is mounted, no request is left without an answer.
func TestCertificateRotation(t *testing.T) {
	ca := newAuthority(t)
	i := settings{mounted: ca}.run(t)
	i.register(t)
	s := pour(t, namespace(t))
	for range 3 {
		s.flows(t, i, 20)
		i.mount(t, ca.certifies(t))
		i.until(t, "the new certificate", func(context.Context) error { return i.serves(filepath.Join(i.dir, "tls.crt")) })
	}
	// One half of a pair is no certificate: the old one stays.
	i.mount(t, map[string][]byte{"tls.crt": ca.certifies(t)["tls.crt"], "tls.key": []byte("none")})
	s.flows(t, i, 20)
	s.ends(t)
}

// mount replaces what is mounted, all files at once, as kubelet does: each is a link
// through a folder that is one itself.
func (i *instance) mount(t *testing.T, files map[string][]byte) {
	t.Helper()
	i.mounts++
	folder := fmt.Sprintf("..%d", i.mounts)
	if err := os.Mkdir(filepath.Join(i.dir, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(i.dir, folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(i.dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	next, data := filepath.Join(i.dir, "..data_tmp"), filepath.Join(i.dir, "..data")
	before, _ := os.Readlink(data)
	if err := errors.Join(os.Symlink(folder, next), os.Rename(next, data)); err != nil {
		t.Fatal(err)
	}
	if before != "" {
		if err := os.RemoveAll(filepath.Join(i.dir, before)); err != nil {
			t.Fatal(err)
		}
	}
}

// serves reports whether the guard shows the certificate of a file.
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

// TestSelfManagedRotation: a guard that keeps its certificate itself makes a new one
// when it is gone, by the same authority, and no request is left without an answer.
func TestSelfManagedRotation(t *testing.T) {
	i := runSelfManaged(t)
	s := pour(t, namespace(t))
	s.flows(t, i, 20)
	before := i.keeps(t)
	do(t, cluster.Request{Method: http.MethodPatch, Path: secrets + "/" + secretName, ContentType: "application/merge-patch+json",
		Body: []byte(`{"data":{"tls.crt":null,"tls.key":null}}`)}).want(t, http.StatusOK)
	i.until(t, "the guard to make another certificate", func(context.Context) error {
		if after := i.keeps(t); len(after["tls.crt"]) == 0 || string(after["tls.crt"]) == string(before["tls.crt"]) {
			return errors.New("there is none")
		}
		return nil
	})
	i.mount(t, i.keeps(t))
	i.until(t, "the new certificate", func(context.Context) error { return i.serves(filepath.Join(i.dir, "tls.crt")) })
	s.flows(t, i, 20)
	s.ends(t)
}

// keeps is what the Secret of the guard's certificate holds.
func (i *instance) keeps(t *testing.T) map[string][]byte {
	t.Helper()
	var secret struct{ Data map[string][]byte }
	decode(t, do(t, cluster.Request{Method: http.MethodGet, Path: secrets + "/" + secretName}), &secret)
	return secret.Data
}
