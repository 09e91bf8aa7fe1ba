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
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// scratch lists the images that have nothing but a program and certificates, and the path of the program.
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
		expect.That(t, digests[0] == digests[1], "%s: one commit makes the images %s", image, digests)
		all := opened(t, filepath.Join(first, "dist", "images", image))
		expect.That(t, len(all) == 2 && all["linux/amd64"] != nil && all["linux/arm64"] != nil,
			"%s is for %d platforms", image, len(all))
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
		expect.Is(t, image+": label "+label, want, i.Config.Labels[labels+label])
	}
	expect.That(t, i.Config.Labels[labels+"description"] != "", "%s has no description", image)
	const roots = "etc/ssl/certs/ca-certificates.crt"
	expect.That(t, bytes.Equal(i.files[path], read(t, filepath.Join(clone, "dist", "linux_"+i.Architecture, image))),
		"%s for %s has another program", image, i.Architecture)
	if len(i.files) != 2 || !bytes.Equal(i.files[roots], read(t, filepath.Join(clone, "dist", "ca-certificates.crt"))) {
		t.Errorf("%s for %s holds %q", image, i.Architecture, slices.Sorted(maps.Keys(i.files)))
	}
	expect.That(t, x509.NewCertPool().AppendCertsFromPEM(i.files[roots]), "%s has no certificate authorities", image)
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
	must.That(t, len(i.Manifests) == 1, "there are %d images", len(i.Manifests))
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
		must.Do(t, err)
		if h.FileInfo().IsDir() {
			continue
		}
		text := must.Get(io.ReadAll(r))(t)
		i.files[h.Name], i.modes[h.Name] = text, h.Mode
	}
}

// signature: cosign signs the checksums as the release workflow does, and verifies them. It rejects
// other checksums, and another commit, tag, workflow or repository.
func signature(t *testing.T, clone string) {
	dir := filepath.Join(clone, "dist")
	s := must.Get(sandbox.Start(t.Context(), sandbox.Options{Dir: t.TempDir(), RekorVersions: []int{1}}))(t)
	t.Cleanup(func() { _ = s.Close() })
	cosign := func(args ...string) error {
		cmd := exec.CommandContext(t.Context(), fixture.FromRoot("bin/e2e/cosign"), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1",
			"SIGSTORE_ROOT_FILE="+s.FulcioChainPath, "SIGSTORE_REKOR_PUBLIC_KEY="+s.RekorKeyPath, "SIGSTORE_CT_LOG_PUBLIC_KEY_FILE="+s.CTLogKeyPath)
		out, err := cmd.CombinedOutput()
		t.Logf("cosign %s: %v\n%s", args[0], err, out)
		return err
	}
	sign := func(id sandbox.Identity, bundle string) {
		t.Helper()
		token := must.Get(sandbox.RequestToken(t.Context(), s.Dir, id, "sigstore"))(t)
		file := filepath.Join(t.TempDir(), "token")
		must.Do(t, os.WriteFile(file, []byte(token), 0o600))
		err := cosign("sign-blob", "--yes", "--use-signing-config=false", "--fulcio-url", s.FulcioURL, "--rekor-url", s.RekorURL, "--identity-token", file,
			"--bundle", bundle, "checksums.txt")
		must.Do(t, err)
	}
	verify := func(bundle, file string, further ...string) error {
		return cosign(slices.Concat([]string{"verify-blob", "--trusted-root", s.TrustedRootPath, "--bundle", bundle,
			"--certificate-identity", "https://github.com/polex-dev/polex/.github/workflows/release.yaml@refs/tags/" + version,
			"--certificate-oidc-issuer", s.IssuerURL}, further, []string{file})...)
	}
	release := sandbox.Identity{Repository: "polex-dev/polex", WorkflowFile: ".github/workflows/release.yaml", Ref: "refs/tags/" + version, SHA: strings.Repeat("1", 40)}
	sign(release, "checksums.txt.sigstore.json")
	expect.That(t, verify("checksums.txt.sigstore.json", "checksums.txt") == nil,
		"cosign rejects the checksums of the release")
	documented(t, dir, s)
	// actions/scripts/release.sh names the commit too.
	err := verify("checksums.txt.sigstore.json", "checksums.txt", "--certificate-github-workflow-sha", release.SHA)
	expect.That(t, err == nil, "cosign rejects the commit of the release")
	if err := verify("checksums.txt.sigstore.json", "checksums.txt", "--certificate-github-workflow-sha", strings.Repeat("0", 40)); err == nil {
		t.Error("cosign accepts another commit")
	}
	changed := strings.Replace(string(read(t, filepath.Join(dir, "checksums.txt"))), "polex_", "polex-", 1)
	must.Do(t, os.WriteFile(filepath.Join(dir, "changed.txt"), []byte(changed), 0o600))
	expect.That(t, verify("checksums.txt.sigstore.json", "changed.txt") != nil, "cosign accepts other checksums")
	for name, change := range map[string]func(*sandbox.Identity){
		"tag":        func(id *sandbox.Identity) { id.Ref = "refs/tags/v9.9.9" },
		"workflow":   func(id *sandbox.Identity) { id.WorkflowFile = ".github/workflows/ci.yaml" },
		"repository": func(id *sandbox.Identity) { id.Repository = "acme/polex" },
	} {
		other := release
		change(&other)
		bundle := filepath.Join(t.TempDir(), "bundle.json")
		sign(other, bundle)
		expect.That(t, verify(bundle, "checksums.txt") != nil, "cosign accepts the signature of another %s", name)
	}
}

// documented runs the commands of docs/how-to/install.md after the downloads: cosign, sha256sum and
// tar. Only the issuer and the trusted root are those of the sandbox.
func documented(t *testing.T, dist string, s *sandbox.Sandbox) {
	t.Helper()
	page := read(t, fixture.FromRoot("docs/how-to/install.md"))
	const issuer = "https://token.actions.githubusercontent.com"
	commands := string(regexp.MustCompile(`(?ms)^cosign verify-blob .*?^tar -xzf [^\n]+$`).Find(page))
	must.That(t, strings.Count(commands, issuer) == 1 && strings.Contains(commands, "sha256sum --check"),
		"the page does not verify with cosign and sha256sum:\n%s", commands)
	commands = strings.Replace(commands, issuer, s.IssuerURL+" --trusted-root "+s.TrustedRootPath, 1)
	dir := t.TempDir()
	for _, name := range []string{"checksums.txt", "checksums.txt.sigstore.json", "polex_" + strings.TrimPrefix(version, "v") + "_linux_amd64.tar.gz"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), read(t, filepath.Join(dist, name)), 0o600))
	}
	env := []string{"version=" + version, "platform=linux_amd64", "HOME=" + t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1",
		"PATH=" + fixture.FromRoot("bin/e2e") + string(filepath.ListSeparator) + os.Getenv("PATH")}
	runWith(t, env, dir, "sh", "-e", "-c", commands)
	_, err := os.Stat(filepath.Join(dir, "polex"))
	expect.NoError(t, err)
}

// goInstall: `go install` builds polex from the module that a proxy would serve for a tag. It
// fails for a go.mod with a replacement, and for files that are not part of the module.
func goInstall(t *testing.T, clone string) {
	const tag, path = "v0.0.1", "github.com/polex-dev/polex"
	proxy := filepath.Join(t.TempDir(), "proxy")
	versions := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	must.Do(t, os.MkdirAll(versions, 0o755))
	archive := must.Get(os.Create(filepath.Join(versions, tag+".zip")))(t)
	must.Do(t, zip.CreateFromVCS(archive, module.Version{Path: path, Version: tag}, clone, "HEAD", ""))
	must.Do(t, archive.Close())
	for name, text := range map[string]string{tag + ".mod": string(read(t, filepath.Join(clone, "go.mod"))), tag + ".info": `{"Version": "` + tag + `"}`, "list": tag + "\n"} {
		must.Do(t, os.WriteFile(filepath.Join(versions, name), []byte(text), 0o600))
	}
	modules := strings.TrimSpace(run(t, clone, "go", "env", "GOMODCACHE"))
	bin, cache := t.TempDir(), filepath.Join(t.TempDir(), "modules")
	// The other modules come from the cache of this machine. The flags are those of its build cache.
	runWith(t, []string{
		"GOBIN=" + bin, "GOMODCACHE=" + cache, "GOPROXY=file://" + proxy + ",file://" + filepath.Join(modules, "cache", "download"),
		"GONOSUMDB=" + path, "GOSUMDB=off", "GOFLAGS=-modcacherw -trimpath -tags=grpcnotrace", "CGO_ENABLED=0",
	}, t.TempDir(), "go", "install", path+"/cmd/polex@"+tag)
	said := run(t, bin, filepath.Join(bin, "polex"), "--version")
	expect.That(t, strings.Contains(said, tag), "it says that it is %s", said)
}
