//go:build e2e

package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/json"
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

	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

const version = "v0.0.0-test"

// run runs a program, and returns its output.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	return runWith(t, nil, dir, name, args...)
}

// runWith runs a program with further variables.
func runWith(t *testing.T, env []string, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	return must.Output(t, cmd)
}

// dist builds a release of the current commit in a new clone, and returns the clone's folder.
func dist(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	run(t, "", "git", "clone", "--quiet", filepath.Join("..", "..", ".."), dir)
	run(t, dir, "make", "dist", "VERSION="+version)
	return dir
}

// TestRelease: two clones in different folders give the same bytes. Each command has an archive for
// each platform, with its version, SBOM and licences. The subtests use the files as users do.
func TestRelease(t *testing.T) {
	first, second := dist(t), dist(t)
	checksums := read(t, filepath.Join(first, "dist", "checksums.txt"))
	other := read(t, filepath.Join(second, "dist", "checksums.txt"))
	expect.That(t, bytes.Equal(checksums, other), "one commit makes\n%sand\n%s", checksums, other)
	commands := must.Get(filepath.Glob(filepath.Join(first, "cmd", "polex*")))(t)
	lines := 3 // of the chart, polex.rb and polex.yaml
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			for _, command := range commands {
				lines++
				command = filepath.Base(command)
				suffix := ".tar.gz"
				if system == "windows" {
					suffix = ".zip"
				}
				name := strings.Join([]string{command, strings.TrimPrefix(version, "v"), system, arch}, "_") + suffix
				archive := read(t, filepath.Join(first, "dist", name))
				line := fmt.Sprintf("%x  %s\n", sha256.Sum256(archive), name)
				expect.That(t, bytes.Contains(checksums, []byte(line)), "the checksums do not hold %s", line)
				t.Run(name, func(t *testing.T) { holds(t, archive, command, system, arch) })
			}
		}
	}
	expect.Is(t, "checksums", lines, bytes.Count(checksums, []byte("\n")))
	// Helm reads the chart, which names the image of this release.
	chart := filepath.Join(first, "dist", "polex-guard-"+strings.TrimPrefix(version, "v")+".tgz")
	line := fmt.Sprintf("%x  %s\n", sha256.Sum256(read(t, chart)), filepath.Base(chart))
	expect.That(t, bytes.Contains(checksums, []byte(line)), "the checksums do not hold %s", line)
	helm := must.Get(filepath.Abs("../../../bin/e2e/helm"))(t)
	if rendered := run(t, t.TempDir(), helm, "template", "polex-guard", chart, "--namespace", "polex-system",
		"--set", "config.trust.authorities[0].name=ci,config.trust.authorities[0].keyFile=key.pub"); !strings.Contains(rendered, "image: ghcr.io/polex-dev/polex-guard:"+version+"\n") {
		t.Errorf("the chart does not name the image of the release:\n%s", rendered)
	}
	for _, name := range []string{"polex.rb", "polex.yaml"} {
		text := read(t, filepath.Join(first, "dist", name))
		for line := range strings.Lines(string(checksums)) {
			sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if !strings.HasPrefix(file, "polex_") || name == "polex.rb" && strings.HasSuffix(file, ".zip") {
				continue
			}
			expect.That(t, bytes.Contains(text, []byte(sum)) && bytes.Contains(text, []byte("/"+version+"/"+file)),
				"%s does not have %s with its checksum", name, file)
		}
	}
	t.Run("kubectl", func(t *testing.T) { kubectl(t, first) })
	t.Run("signature", func(t *testing.T) { signature(t, first) })
	t.Run("images", func(t *testing.T) { images(t, first, second) })
	t.Run("go install", func(t *testing.T) { goInstall(t, first) })
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}

// holds checks the content of an archive.
func holds(t *testing.T, archive []byte, command, system, arch string) {
	t.Helper()
	dir, program := t.TempDir(), command
	unpack := untar
	if system == "windows" {
		program += ".exe"
		unpack = unzip
	}
	names := unpack(t, archive, dir)
	pages := map[bool][]string{true: {"completions/polex.bash", "completions/_polex", "completions/polex.fish", "completions/polex.ps1", "man/polex.1", "man/polex-verify.1"},
		false: {"man/" + command + ".1"}}[command == "polex"]
	for _, page := range pages {
		expect.That(t, slices.Contains(names, page), "it lacks %s", page)
	}
	top := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, "/") })
	want := []string{"LICENSE", "README.md", "THIRD-PARTY-LICENSES.txt", "sbom.cdx.json", program}
	expect.That(t, slices.Equal(top, want), "it holds %q, want %q", top, want)
	path := filepath.Join(dir, program)
	if got, want := machine(t, path, system), machines[system+"/"+arch]; got != want {
		t.Errorf("the program is for %s, want %s", got, want)
	}
	described(t, path, read(t, filepath.Join(dir, "sbom.cdx.json")), read(t, filepath.Join(dir, "THIRD-PARTY-LICENSES.txt")))
	if runtime.GOOS == system && runtime.GOARCH == arch && command != "polex-sandbox" {
		said := run(t, dir, path, "--version")
		expect.That(t, strings.Contains(said, version), "%s says that it is %s", program, said)
	}
}

// described: the SBOM and the licences have every module of a program.
func described(t *testing.T, path string, sbom, licenses []byte) {
	t.Helper()
	info := must.Get(buildinfo.ReadFile(path))(t)
	var bom struct {
		BOMFormat string
		Metadata  struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Name, Version string }
	}
	must.Do(t, json.Unmarshal(sbom, &bom))
	if main := bom.Metadata.Component; bom.BOMFormat != "CycloneDX" || main.Name != info.Main.Path || main.Version != version {
		t.Errorf("the SBOM is of %s %s in the format %q", main.Name, main.Version, bom.BOMFormat)
	}
	named := map[string]bool{}
	for _, c := range bom.Components {
		named[c.Name+"@"+c.Version] = true
	}
	for _, m := range info.Deps {
		name := m.Path + "@" + m.Version
		expect.That(t, named[name], "the SBOM does not name %s", name)
		expect.That(t, bytes.Contains(licenses, []byte("==== "+name+": ")), "there is no licence of %s", name)
	}
	expect.That(t, named["std@"+info.GoVersion], "the SBOM does not name the standard library of %s", info.GoVersion)
}

var machines = map[string]string{
	"linux/amd64": elf.EM_X86_64.String(), "linux/arm64": elf.EM_AARCH64.String(),
	"darwin/amd64": macho.CpuAmd64.String(), "darwin/arm64": macho.CpuArm64.String(),
	"windows/amd64": fmt.Sprint(pe.IMAGE_FILE_MACHINE_AMD64), "windows/arm64": fmt.Sprint(pe.IMAGE_FILE_MACHINE_ARM64),
}

// machine returns the machine that a program is for. A program for Linux needs no interpreter.
func machine(t *testing.T, path, system string) string {
	t.Helper()
	var opened io.Closer
	var machine string
	var err error
	switch system {
	case "linux":
		var f *elf.File
		if f, err = elf.Open(path); err == nil {
			opened, machine = f, f.Machine.String()
			expect.That(t, !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }),
				"%s needs an interpreter", path)
		}
	case "darwin":
		var f *macho.File
		if f, err = macho.Open(path); err == nil {
			opened, machine = f, f.Cpu.String()
		}
	case "windows":
		var f *pe.File
		if f, err = pe.Open(path); err == nil {
			opened, machine = f, fmt.Sprint(f.Machine)
		}
	}
	must.Do(t, err)
	must.Do(t, opened.Close())
	return machine
}

// untar unpacks an archive, and returns the names of its files.
func untar(t *testing.T, archive []byte, dir string) (names []string) {
	t.Helper()
	plain := must.Get(gzip.NewReader(bytes.NewReader(archive)))(t)
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		must.Do(t, err)
		names = append(names, h.Name)
		write(t, filepath.Join(dir, filepath.FromSlash(h.Name)), r, h.FileInfo().Mode())
	}
}

func unzip(t *testing.T, archive []byte, dir string) (names []string) {
	t.Helper()
	r := must.Get(zip.NewReader(bytes.NewReader(archive), int64(len(archive))))(t)
	for _, f := range r.File {
		content := must.Get(f.Open())(t)
		names = append(names, f.Name)
		write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), content, f.Mode())
	}
	return names
}

func write(t *testing.T, path string, content io.Reader, mode os.FileMode) {
	t.Helper()
	text := must.Get(io.ReadAll(content))(t)
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, text, mode))
}

// native unpacks the archive of polex for this machine, and returns the folder.
func native(t *testing.T, clone string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the archive for Windows is a zip")
	}
	dir := t.TempDir()
	untar(t, read(t, filepath.Join(clone, "dist", fmt.Sprintf("polex_%s_%s_%s.tar.gz", strings.TrimPrefix(version, "v"), runtime.GOOS, runtime.GOARCH))), dir)
	return dir
}

// kubectl: kubectl runs the program of the archive as its plugin, under the name that krew links.
func kubectl(t *testing.T, clone string) {
	dir := native(t, clone)
	must.Do(t, os.Symlink(filepath.Join(dir, "polex"), filepath.Join(dir, "kubectl-polex")))
	env := []string{"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")}
	said := runWith(t, env, dir, fixture.Kubectl(), "polex", "--version")
	expect.That(t, strings.Contains(said, version), "kubectl polex says that it is %s", said)
}
