package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are the platforms of a release.
var platforms = []platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

type platform struct{ OS, Arch string }

func (p platform) String() string { return p.OS + "_" + p.Arch }

func main() {
	version := flag.String("version", "", "the `version`, as its tag is called")
	out := flag.String("out", "dist", "`folder` to write to")
	flag.Parse()
	if *version == "" || strings.ContainsAny(*version, `/\ `) || flag.NArg() > 0 {
		check(fmt.Errorf("-version is %q: name one", *version))
	}
	release(*version, *out)
}

// check ends the program at an error: there is no release then.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "release: error:", err)
		os.Exit(1)
	}
}

func orExit[T any](value T, err error) T {
	check(err)
	return value
}

func read(path string) []byte { return orExit(os.ReadFile(path)) } // #nosec G304 -- of this repository and build

// release builds everything into a folder, which it empties first.
func release(version, out string) {
	commands := orExit(filepath.Glob(filepath.Join("cmd", "polex*")))
	if len(commands) == 0 {
		check(errors.New("there are no commands in cmd: run it at the repository's root"))
	}
	committed := orExit(strconv.ParseInt(output("git", "show", "--no-patch", "--format=%ct", "HEAD"), 10, 64))
	when := time.Unix(committed, 0) // of every file
	check(os.RemoveAll(out))
	pages := manual(filepath.Join(out, "manual"), version, when)
	polex, sums := map[string]archive{}, map[string]string{}
	for _, p := range platforms {
		dir := filepath.Join(out, p.String())
		build(p, version, dir)
		for _, c := range commands {
			a := archive{command: filepath.Base(c), version: version, platform: p}
			a.SHA256 = publish(out, a.name(), a.build(dir, pages, when), sums)
			if a.command == "polex" {
				polex[p.String()] = a
			}
		}
	}
	name, packed := chart(filepath.Join("charts", "polex-guard"), version, when)
	publish(out, name, packed, sums)
	manifests(out, version, polex, sums)
	check(os.WriteFile(filepath.Join(out, "ca-certificates.crt"), roots(), 0o644))
	checksums(out, sums)
}

// publish writes a file, and adds its checksum.
func publish(out, name string, data []byte, sums map[string]string) string {
	check(os.WriteFile(filepath.Join(out, name), data, 0o644))
	sums[name] = fmt.Sprintf("%x", sha256.Sum256(data))
	return sums[name]
}

// checksums writes the checksums for sha256sum.
func checksums(out string, sums map[string]string) {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		text = fmt.Appendf(text, "%s  %s\n", sums[name], name)
	}
	check(os.WriteFile(filepath.Join(out, "checksums.txt"), text, 0o644))
}

// archive is the archive of a command for a platform.
type archive struct {
	command, version string
	platform
	SHA256 string
}

func (a archive) name() string {
	suffix := ".tar.gz"
	if a.OS == "windows" {
		suffix = ".zip"
	}
	return fmt.Sprintf("%s_%s_%s%s", a.command, strings.TrimPrefix(a.version, "v"), a.platform, suffix)
}

// URL returns the address of the archive in GitHub's release.
func (a archive) URL() string {
	return "https://github.com/polex-dev/polex/releases/download/" + a.version + "/" + a.name()
}

// Program returns the file name of the command in the archive.
func (a archive) Program() string {
	if a.OS == "windows" {
		return a.command + ".exe"
	}
	return a.command
}

// build returns the archive. dir has the program.
func (a archive) build(dir string, pages []entry, when time.Time) []byte {
	path := filepath.Join(dir, a.Program())
	goroot, cache, _ := strings.Cut(output("go", "env", "GOROOT", "GOMODCACHE"), "\n")
	files := []entry{
		{"LICENSE", read("LICENSE"), 0o644}, {"README.md", read("README.md"), 0o644},
		{"THIRD-PARTY-LICENSES.txt", orExit(licenses(path, goroot, cache)), 0o644},
		{"sbom.cdx.json", sbom(path, a.version), 0o644}, {a.Program(), read(path), 0o755},
	}
	for _, page := range pages {
		name := strings.TrimPrefix(page.name, "man/")
		if a.command == "polex" || strings.HasPrefix(name, a.command+".") || strings.HasPrefix(name, a.command+"-") {
			files = append(files, page)
		}
	}
	if a.OS == "windows" {
		return zipped(files, when)
	}
	return tarball(files, when)
}

// output returns what a program prints, without the end of the last line.
func output(name string, args ...string) string {
	return strings.TrimSpace(string(orExit(exec.Command(name, args...).Output()))) // #nosec G204 -- constants
}

// build builds every command for a platform, static and without paths of this machine. The tag omits gRPC's trace
// pages, like the Makefile: they are a quarter of some commands.
func build(p platform, version, dir string) {
	const stamp = "github.com/polex-dev/polex/internal/command/cli.Version="
	cmd := exec.Command("go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w -X "+stamp+version,
		"-o", dir+string(filepath.Separator), "./cmd/...") // #nosec G204 -- a version without a space
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch, "GOFLAGS=", "GOAMD64=v1",
		"GOARM64=v8.0")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	check(cmd.Run())
}
