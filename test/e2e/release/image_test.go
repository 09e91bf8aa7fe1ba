//go:build e2e

package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// scratch lists the images that have nothing but a program and certificates, and the path of the
// program.
var scratch = map[string]string{"polex-guard": "polex-guard", "polex-verify": "usr/local/bin/polex-verify"}

// images builds the images without a distribution from the release files of two clones, and checks
// their whole content. The build downloads nothing and runs nothing.
func images(t *testing.T, first, second string) {
	if _, err := exec.LookPath("buildah"); err != nil {
		t.Skip("buildah is not installed")
	}
	for image, path := range scratch {
		var digests []string
		for _, clone := range []string{first, second} {
			storage := t.TempDir()
			conf := filepath.Join(storage, "storage.conf")
			must.Do(t, os.WriteFile(conf, fmt.Appendf(nil,
				"[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", filepath.Join(storage, "root"),
				filepath.Join(storage, "run")), 0o600))
			runWith(t, []string{"CONTAINERS_STORAGE_CONF=" + conf}, clone, "internal/release/images.sh", version, image)
			layout := filepath.Join(clone, "dist", "images", image)
			digests = append(digests, index(t, layout).Manifests[0].Digest)
		}
		if digests[0] != digests[1] {
			t.Errorf("%s: one commit makes the images %s", image, digests)
		}
		all := opened(t, filepath.Join(first, "dist", "images", image))
		if len(all) != 2 || all["linux/amd64"] == nil || all["linux/arm64"] == nil {
			t.Errorf("%s is for %d platforms", image, len(all))
		}
		for platform, i := range all {
			inspect(t, first, image, path, i)
			t.Logf("%s for %s: %d bytes in all, %d compressed", image, platform, i.size(), i.compressed)
		}
	}
}

// inspect checks the image of a program for one platform.
func inspect(t *testing.T, clone, image, path string, i *contents) {
	t.Helper()
	if i.Config.User != "65532:65532" || !slices.Equal(i.Config.Entrypoint, []string{"/" + path}) || len(i.Config.Cmd) > 0 || len(i.Config.Env) > 1 {
		t.Errorf("%s for %s: it runs as %+v", image, i.Architecture, i.Config)
	}
	const labels = "org.opencontainers.image."
	for label, want := range map[string]string{
		"title": image, "source": "https://github.com/polex-dev/polex", "licenses": "Apache-2.0", "version": strings.TrimPrefix(version, "v"),
		"revision": strings.TrimSpace(run(t, clone, "git", "rev-parse", "HEAD")),
		"created":  i.Created,
	} {
		if got := i.Config.Labels[labels+label]; got != want {
			t.Errorf("%s: the label %s is %q, want %q", image, label, got, want)
		}
	}
	if i.Config.Labels[labels+"description"] == "" {
		t.Errorf("%s has no description", image)
	}
	const roots = "etc/ssl/certs/ca-certificates.crt"
	if !bytes.Equal(i.files[path], read(t, filepath.Join(clone, "dist", "linux_"+i.Architecture, image))) {
		t.Errorf("%s for %s has another program", image, i.Architecture)
	}
	if len(i.files) != 2 || !bytes.Equal(i.files[roots], read(t, filepath.Join(clone, "dist", "ca-certificates.crt"))) {
		t.Errorf("%s for %s holds %q", image, i.Architecture, slices.Sorted(maps.Keys(i.files)))
	}
	if !x509.NewCertPool().AppendCertsFromPEM(i.files[roots]) {
		t.Errorf("%s has no certificate authorities", image)
	}
	if mode := i.modes[path]; mode&0o555 != 0o555 || mode&0o022 != 0 {
		t.Errorf("%s cannot be run by everybody, or changed by others: %o", path, mode)
	}
	if mode := i.modes[roots]; mode&0o444 != 0o444 || mode&0o022 != 0 {
		t.Errorf("%s cannot be read by everybody, or can be changed by others: %o", roots, mode)
	}
}

// contents has the configuration of an image for one platform, and all of its files.
type contents struct {
	Architecture, OS string
	Created          string
	Config           struct {
		User                 string
		Entrypoint, Cmd, Env []string
		Labels               map[string]string
	}
	files      map[string][]byte
	modes      map[string]int64
	compressed int64
}

func (i *contents) size() (bytes int) {
	for _, text := range i.files {
		bytes += len(text)
	}
	return bytes
}

type descriptor struct {
	Digest string
	Size   int64
}

type manifests struct{ Manifests []descriptor }

func decode(t *testing.T, path string, into any) {
	t.Helper()
	must.Do(t, json.Unmarshal(read(t, path), into))
}

func index(t *testing.T, layout string) (i manifests) {
	t.Helper()
	decode(t, filepath.Join(layout, "index.json"), &i)
	if len(i.Manifests) != 1 {
		t.Fatalf("there are %d images", len(i.Manifests))
	}
	return i
}

// opened reads the image of each platform from an OCI layout.
func opened(t *testing.T, layout string) map[string]*contents {
	t.Helper()
	blob := func(d descriptor) string {
		return filepath.Join(layout, "blobs", strings.Replace(d.Digest, ":", "/", 1))
	}
	var list manifests
	decode(t, blob(index(t, layout).Manifests[0]), &list)
	all := map[string]*contents{}
	for _, one := range list.Manifests {
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		decode(t, blob(one), &manifest)
		i := &contents{files: map[string][]byte{}, modes: map[string]int64{}}
		decode(t, blob(manifest.Config), i)
		for _, layer := range manifest.Layers {
			i.compressed += layer.Size
			i.unpack(t, blob(layer))
		}
		all[i.OS+"/"+i.Architecture] = i
	}
	return all
}

func (i *contents) unpack(t *testing.T, layer string) {
	t.Helper()
	f := must.Get(os.Open(layer))(t)
	defer f.Close()
	plain := must.Get(gzip.NewReader(f))(t)
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
		text := must.Get(io.ReadAll(r))(t)
		i.files[h.Name], i.modes[h.Name] = text, h.Mode
	}
}
