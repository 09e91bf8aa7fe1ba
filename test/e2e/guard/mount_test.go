//go:build e2e

package guard

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// mount writes files like kubelet and replaces the existing ones at once: each is a link through a
// folder that is a link too.
func mount[T string | []byte](t *testing.T, dir string, files map[string]T) {
	t.Helper()
	folder, err := os.MkdirTemp(dir, "..data-")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next, data := filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")
	before, _ := os.Readlink(data)
	if err := errors.Join(os.Symlink(filepath.Base(folder), next), os.Rename(next, data)); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	if before != "" {
		if err := os.RemoveAll(filepath.Join(dir, before)); err != nil {
			t.Fatal(err)
		}
	}
}

// mountSecret waits until the guard has put a certificate into its Secret, and mounts it.
func (i *instance) mountSecret(t *testing.T, secret, dir string) {
	t.Helper()
	i.until(t, "the guard to make a certificate", func(context.Context) error {
		if len(secretData(t, secret)["tls.crt"]) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	mount(t, dir, secretData(t, secret))
}

// secretData returns the data of a Secret.
func secretData(t *testing.T, secret string) map[string][]byte {
	t.Helper()
	var object struct{ Data map[string][]byte }
	decode(t, do(t, cluster.Request{Method: http.MethodGet, Path: secret}), &object)
	return object.Data
}
