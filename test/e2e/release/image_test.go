//go:build e2e

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// image builds the image for both platforms from the release files, and checks its whole content.
// The build starts from scratch, downloads nothing and runs nothing.
func image(t *testing.T, dir string) {
	if _, err := exec.LookPath("buildah"); err != nil {
		t.Skip("buildah is not installed")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		storage := t.TempDir()
		buildah := func(args ...string) {
			t.Helper()
			run(t, dir, "buildah", append([]string{"--storage-driver", "vfs", "--root", filepath.Join(storage, "root"), "--runroot", filepath.Join(storage, "run")}, args...)...)
		}
		layout := filepath.Join(storage, "layout")
		buildah("bud", "--isolation", "chroot", "--platform", "linux/"+arch, "--build-arg", "TARGETARCH="+arch, "--tag", "polex-guard", ".")
		buildah("push", "polex-guard", "oci:"+layout)
		i := opened(t, layout)
		if i.Architecture != arch || i.OS != "linux" {
			t.Errorf("it is for %s on %s, want %s", i.OS, i.Architecture, arch)
		}
		if i.Config.User != "65532:65532" || !slices.Equal(i.Config.Entrypoint, []string{"/polex-guard"}) || len(i.Config.Cmd) > 0 || len(i.Config.Env) > 1 {
			t.Errorf("%s: it runs as %+v", arch, i.Config)
		}
		guard, err := os.ReadFile(filepath.Join(dir, "dist", "linux_"+arch, "polex-guard"))
		if err != nil {
			t.Fatal(err)
		}
		if len(i.files) != 1 || !bytes.Equal(i.files["polex-guard"], guard) {
			t.Errorf("%s: it holds %d files, or another guard", arch, len(i.files))
		}
		t.Logf("%s: %d bytes", arch, len(guard))
	}
}

// contents has an image's configuration and all of its files.
type contents struct {
	Architecture, OS string
	Config           struct {
		User                 string
		Entrypoint, Cmd, Env []string
	}
	files map[string][]byte
}

type descriptor struct{ Digest string }

// opened reads an image of one platform from an OCI layout.
func opened(t *testing.T, layout string) contents {
	t.Helper()
	decode := func(path string, into any) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(layout, path))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	blob := func(d descriptor) string { return filepath.Join("blobs", strings.Replace(d.Digest, ":", "/", 1)) }
	var index struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode("index.json", &index)
	if len(index.Manifests) != 1 {
		t.Fatalf("there are %d images", len(index.Manifests))
	}
	decode(blob(index.Manifests[0]), &manifest)
	i := contents{files: map[string][]byte{}}
	decode(blob(manifest.Config), &i)
	for _, layer := range manifest.Layers {
		i.unpack(t, filepath.Join(layout, blob(layer)))
	}
	return i
}

func (i *contents) unpack(t *testing.T, layer string) {
	t.Helper()
	f, err := os.Open(layer)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(plain)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.FileInfo().IsDir() {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if i.files[h.Name] = text; h.Mode&0o111 != 0o111 {
			t.Errorf("%s cannot be run by everybody: %o", h.Name, h.Mode)
		}
	}
}
