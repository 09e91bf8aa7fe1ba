package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// packed is a file of an archive.
type packed struct {
	Name string
	Mode os.FileMode
	Text string
	When time.Time
}

// TestPack: an archive contains the files and their executable bits, and nothing about the user and
// the time of the build.
func TestPack(t *testing.T) {
	when := time.Unix(1700000000, 0)
	for system, of := range map[string]struct {
		pack   func([]entry, time.Time) []byte
		unpack func(*testing.T, []byte) []packed
	}{"linux": {tarball, untar}, "windows": {zipped, unzip}} {
		t.Run(system, func(t *testing.T) {
			var archives [][]byte
			for n, mode := range []os.FileMode{0o600, 0o777} {
				t.Chdir(t.TempDir())
				command := filepath.Join("dist", "polex-a")
				must.Do(t, os.Mkdir("dist", 0o755))
				for _, file := range []string{command, "LICENSE"} {
					must.Do(t, os.WriteFile(file, []byte(file), mode))
					other := when.Add(time.Duration(n) * time.Hour)
					must.Do(t, os.Chtimes(file, other, other))
				}
				archives = append(archives, of.pack(append(tree(".", "top"), entry{"polex-a", read(command), 0o755}), when))
			}
			if !bytes.Equal(archives[0], archives[1]) {
				t.Error("the same files make two archives")
			}
			want := []packed{{"top/LICENSE", 0o644, "LICENSE", when.UTC()},
				{"top/dist/polex-a", 0o644, filepath.Join("dist", "polex-a"), when.UTC()}, {"polex-a", 0o755, filepath.Join("dist", "polex-a"), when.UTC()}}
			expect.Equal(t, "result", want, of.unpack(t, archives[0]))
		})
	}
}

// untar reads a tar.gz. It fails if the archive names a user.
func untar(t *testing.T, archive []byte) (files []packed) {
	t.Helper()
	plain := must.Get(gzip.NewReader(bytes.NewReader(archive)))(t)
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must.Do(t, err)
		text := must.Get(io.ReadAll(r))(t)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("it names a user: %+v", h)
		}
		files = append(files, packed{h.Name, h.FileInfo().Mode(), string(text), h.ModTime.UTC()})
	}
}

func unzip(t *testing.T, archive []byte) (files []packed) {
	t.Helper()
	r := must.Get(zip.NewReader(bytes.NewReader(archive), int64(len(archive))))(t)
	for _, f := range r.File {
		content := must.Get(f.Open())(t)
		text := must.Get(io.ReadAll(content))(t)
		files = append(files, packed{f.Name, f.Mode(), string(text), f.Modified.UTC()})
	}
	return files
}

// TestContents: the licences and the SBOM of a program name every module in it. The SBOM of a second run is the same.
func TestContents(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	dir := t.TempDir()
	program := filepath.Join(dir, "polex-validate")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags=grpcnotrace", "-trimpath", "-o", program, "./cmd/polex-validate").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info := must.Get(buildinfo.ReadFile(program))(t)
	goroot, cache := output("go", "env", "GOROOT"), output("go", "env", "GOMODCACHE")
	text := must.Get(licenses(program, goroot, cache))(t)
	first, second := sbom(program, "v1.2.3"), sbom(program, "v1.2.3")
	if !bytes.Equal(first, second) {
		t.Error("two SBOMs of a program differ")
	}
	if len(info.Deps) < 10 {
		t.Errorf("%d modules are too few to test with", len(info.Deps))
	}
	for _, m := range info.Deps {
		if !bytes.Contains(first, []byte(`"pkg:golang/`+m.Path+"@"+strings.ReplaceAll(m.Version, "+", "%2B"))) {
			t.Errorf("the SBOM does not have %s %s", m.Path, m.Version)
		}
		if !bytes.Contains(text, []byte("==== "+m.Path+"@"+m.Version+": ")) {
			t.Errorf("the licences do not have %s %s", m.Path, m.Version)
		}
	}
	if !bytes.Contains(first, []byte(`"pkg:golang/std@`)) || !bytes.Contains(text, []byte("The Go Authors")) {
		t.Error("the standard library is missing")
	}
	empty := t.TempDir()
	if _, err := licenses(program, goroot, empty); err == nil {
		t.Error("a module that is not there is accepted")
	}
	one := filepath.Join(empty, filepath.FromSlash(orExit(module.EscapePath(info.Deps[0].Path)))+"@"+info.Deps[0].Version)
	must.Do(t, os.MkdirAll(filepath.Join(one, "license"), 0o755))
	if _, err := licenses(program, goroot, empty); err == nil || !strings.Contains(err.Error(), "no licence file") {
		t.Errorf("a module without a licence is accepted: %v", err)
	}
}

// TestRoots: the certificates of the images are certificate authorities that have not expired.
func TestRoots(t *testing.T) {
	count := 0
	for rest := roots(); ; count++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c := must.Get(x509.ParseCertificate(block.Bytes))(t)
		if !c.IsCA || c.NotAfter.Before(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: authority %v, until %s", c.Subject, c.IsCA, c.NotAfter)
		}
	}
	if count < 100 {
		t.Errorf("there are %d certificates", count)
	}
}

// TestChart: the archive holds every file of the chart, and Chart.yaml has the version of the
// release everywhere. A development build keeps the version of Git.
func TestChart(t *testing.T) {
	for version, number := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "1a2b3c4-dirty": chartInGit, "devel": chartInGit} {
		name, packed := chart(filepath.Join("..", "..", "charts", "polex-guard"), version, time.Unix(0, 0))
		if name != "polex-guard-"+number+".tgz" {
			t.Fatalf("%s: %s", version, name)
		}
		files := unpacked(t, packed)
		described := files["polex-guard/Chart.yaml"]
		for _, line := range []string{"\nversion: " + number + "\n", "\nappVersion: " + number + "\n", "image: ghcr.io/polex-dev/polex-guard:v" + number + "\n"} {
			if !strings.Contains(described, line) {
				t.Errorf("%s: Chart.yaml lacks %q", version, line)
			}
		}
		for _, file := range []string{"values.yaml", "values.schema.json", "README.md", "templates/webhook.yaml", "files/guard/protect/cluster.yaml"} {
			if files["polex-guard/"+file] == "" {
				t.Errorf("%s: there is no %s", version, file)
			}
		}
	}
}

// unpacked returns the files of an archive by name.
func unpacked(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	plain := must.Get(gzip.NewReader(bytes.NewReader(packed)))(t)
	files := map[string]string{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		text, readErr := io.ReadAll(r)
		must.Do(t, errors.Join(err, readErr))
		files[h.Name] = string(text)
	}
}
