//go:build e2e

package release

import (
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
	"github.com/polex-dev/polex/test/must"
)

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
		if err := cosign("sign-blob", "--yes", "--use-signing-config=false", "--fulcio-url", s.FulcioURL, "--rekor-url", s.RekorURL, "--identity-token", file,
			"--bundle", bundle, "checksums.txt"); err != nil {
			t.Fatal(err)
		}
	}
	verify := func(bundle, file string, further ...string) error {
		return cosign(slices.Concat([]string{"verify-blob", "--trusted-root", s.TrustedRootPath, "--bundle", bundle,
			"--certificate-identity", "https://github.com/polex-dev/polex/.github/workflows/release.yaml@refs/tags/" + version,
			"--certificate-oidc-issuer", s.IssuerURL}, further, []string{file})...)
	}
	release := sandbox.Identity{Repository: "polex-dev/polex", WorkflowFile: ".github/workflows/release.yaml", Ref: "refs/tags/" + version, SHA: strings.Repeat("1", 40)}
	sign(release, "checksums.txt.sigstore.json")
	if err := verify("checksums.txt.sigstore.json", "checksums.txt"); err != nil {
		t.Error("cosign rejects the checksums of the release")
	}
	documented(t, dir, s)
	// actions/scripts/release.sh names the commit too.
	if err := verify("checksums.txt.sigstore.json", "checksums.txt", "--certificate-github-workflow-sha", release.SHA); err != nil {
		t.Error("cosign rejects the commit of the release")
	}
	if err := verify("checksums.txt.sigstore.json", "checksums.txt", "--certificate-github-workflow-sha", strings.Repeat("0", 40)); err == nil {
		t.Error("cosign accepts another commit")
	}
	changed := strings.Replace(string(read(t, filepath.Join(dir, "checksums.txt"))), "polex_", "polex-", 1)
	must.Do(t, os.WriteFile(filepath.Join(dir, "changed.txt"), []byte(changed), 0o600))
	if err := verify("checksums.txt.sigstore.json", "changed.txt"); err == nil {
		t.Error("cosign accepts other checksums")
	}
	for name, change := range map[string]func(*sandbox.Identity){
		"tag":        func(id *sandbox.Identity) { id.Ref = "refs/tags/v9.9.9" },
		"workflow":   func(id *sandbox.Identity) { id.WorkflowFile = ".github/workflows/ci.yaml" },
		"repository": func(id *sandbox.Identity) { id.Repository = "acme/polex" },
	} {
		other := release
		change(&other)
		bundle := filepath.Join(t.TempDir(), "bundle.json")
		sign(other, bundle)
		if err := verify(bundle, "checksums.txt"); err == nil {
			t.Errorf("cosign accepts the signature of another %s", name)
		}
	}
}

// documented runs the commands of docs/how-to/install.md after the downloads: cosign, sha256sum and
// tar. Only the issuer and the trusted root are those of the sandbox.
func documented(t *testing.T, dist string, s *sandbox.Sandbox) {
	t.Helper()
	page := read(t, fixture.FromRoot("docs/how-to/install.md"))
	const issuer = "https://token.actions.githubusercontent.com"
	commands := string(regexp.MustCompile(`(?ms)^cosign verify-blob .*?^tar -xzf [^\n]+$`).Find(page))
	if strings.Count(commands, issuer) != 1 || !strings.Contains(commands, "sha256sum --check") {
		t.Fatalf("the page does not verify with cosign and sha256sum:\n%s", commands)
	}
	commands = strings.Replace(commands, issuer, s.IssuerURL+" --trusted-root "+s.TrustedRootPath, 1)
	dir := t.TempDir()
	for _, name := range []string{"checksums.txt", "checksums.txt.sigstore.json", "polex_" + strings.TrimPrefix(version, "v") + "_linux_amd64.tar.gz"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), read(t, filepath.Join(dist, name)), 0o600))
	}
	env := []string{"version=" + version, "platform=linux_amd64", "HOME=" + t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1",
		"PATH=" + fixture.FromRoot("bin/e2e") + string(filepath.ListSeparator) + os.Getenv("PATH")}
	runWith(t, env, dir, "sh", "-e", "-c", commands)
	if _, err := os.Stat(filepath.Join(dir, "polex")); err != nil {
		t.Error(err)
	}
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
	if said := run(t, bin, filepath.Join(bin, "polex"), "--version"); !strings.Contains(said, tag) {
		t.Errorf("it says that it is %s", said)
	}
}
