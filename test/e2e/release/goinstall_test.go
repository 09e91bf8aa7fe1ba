//go:build e2e

package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// goInstall: `go install` builds polex from the module that a proxy would serve for a tag. It
// fails for a go.mod with a replacement, and for files that are not part of the module.
func goInstall(t *testing.T, clone string) {
	const tag, path = "v0.0.1", "github.com/polex-dev/polex"
	proxy := filepath.Join(t.TempDir(), "proxy")
	versions := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(versions, tag+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromVCS(archive, module.Version{Path: path, Version: tag}, clone, "HEAD", ""); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{tag + ".mod": string(read(t, filepath.Join(clone, "go.mod"))), tag + ".info": `{"Version": "` + tag + `"}`, "list": tag + "\n"} {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
