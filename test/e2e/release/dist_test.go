//go:build e2e

package release

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const version = "v0.0.0-test"

// run runs a program, and returns its output.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Stderr = new(strings.Builder)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, cmd.Stderr)
	}
	return string(out)
}

// dist builds a release of the current commit in a new clone, and returns the clone's folder.
func dist(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	run(t, "", "git", "clone", "--quiet", filepath.Join("..", "..", ".."), dir)
	run(t, dir, "make", "dist", "VERSION="+version)
	return dir
}

// TestRelease: two clones in different folders give the same bytes. The archives have every command
// with its version, and the image has only the guard.
func TestRelease(t *testing.T) {
	first, second := dist(t), dist(t)
	read := func(dir, name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "dist", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	checksums := read(first, "checksums.txt")
	if other := read(second, "checksums.txt"); checksums != other {
		t.Errorf("one commit makes\n%sand\n%s", checksums, other)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		name := "polex_" + strings.TrimPrefix(version, "v") + "_linux_" + arch + ".tar.gz"
		archive := read(first, name)
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(archive)), name); !strings.Contains(checksums, line) {
			t.Errorf("the checksums do not hold %s", line)
		}
		holds(t, archive, arch)
	}
	// Helm reads the chart, which names the image of this release.
	chart := "polex-guard-" + strings.TrimPrefix(version, "v") + ".tgz"
	if line := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(read(first, chart))), chart); !strings.Contains(checksums, line) {
		t.Errorf("the checksums do not hold %s", chart)
	}
	helm, err := filepath.Abs("../../../bin/e2e/helm")
	if err != nil {
		t.Fatal(err)
	}
	if rendered := run(t, t.TempDir(), helm, "template", "polex-guard", filepath.Join(first, "dist", chart), "--namespace", "polex-system",
		"--set", "config.trust.authorities[0].name=ci,config.trust.authorities[0].keyFile=key.pub"); !strings.Contains(rendered, "image: ghcr.io/polex-dev/polex-guard:"+version+"\n") {
		t.Errorf("the chart does not name the image of the release:\n%s", rendered)
	}
	t.Run("image", func(t *testing.T) { image(t, first) })
}

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// holds compares an archive with the existing commands.
func holds(t *testing.T, archive, arch string) {
	t.Helper()
	want, err := filepath.Glob(filepath.Join("..", "..", "..", "cmd", "polex*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] = filepath.Base(want[i])
	}
	plain, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	dir, r, names := t.TempDir(), tar.NewReader(plain), []string{}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if names = append(names, h.Name); !strings.HasPrefix(h.Name, "polex-") {
			continue
		}
		path := filepath.Join(dir, h.Name)
		if err := os.WriteFile(path, text, 0o700); err != nil {
			t.Fatal(err)
		}
		static(t, path, arch)
		if runtime.GOOS == "linux" && runtime.GOARCH == arch && h.Name != "polex-sandbox" {
			if said := run(t, dir, path, "--version"); !strings.Contains(said, version) {
				t.Errorf("%s says that it is %s", h.Name, said)
			}
		}
	}
	programs := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, "/") })
	if want = append([]string{"LICENSE", "README.md"}, want...); !slices.Equal(programs, want) {
		t.Errorf("%s: it holds %q, want %q", arch, programs, want)
	}
	for _, want := range []string{"completions/polex.bash", "man/polex-verify.1"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s: it lacks %s", arch, want)
		}
	}
}

// static: a program for a platform has no dependencies, and does not contain the folder of its
// build.
func static(t *testing.T, path, arch string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Machine != machines[arch] {
		t.Errorf("%s is for %s", path, f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s needs an interpreter", path)
		}
	}
}
