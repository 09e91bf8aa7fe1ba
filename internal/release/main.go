package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// program returns the file name of a command.
func (p platform) program(command string) string {
	if p.os == "windows" {
		return command + ".exe"
	}
	return command
}

func main() {
	version := flag.String("version", "", "the `version`, as its tag is called")
	out := flag.String("out", "dist", "`folder` to write to")
	flag.Parse()
	if err := release(*version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "release: error:", err)
		os.Exit(1)
	}
}

// release builds everything into a folder, which it empties first.
func release(version, out string) error {
	if version == "" || strings.ContainsAny(version, `/\ `) || flag.NArg() > 0 {
		return fmt.Errorf("-version is %q: name one", version)
	}
	commands, err := filepath.Glob(filepath.Join("cmd", "polex*"))
	if err != nil || len(commands) == 0 {
		return fmt.Errorf("there are no commands in cmd: run it at the repository's root: %w", err)
	}
	when, err := committed()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	manual, err := manual(filepath.Join(out, "manual"), version, when)
	if err != nil {
		return err
	}
	var archives []archive
	for _, p := range platforms {
		dir := filepath.Join(out, p.String())
		if err := build(p, version, dir); err != nil {
			return err
		}
		modules, err := modules(p)
		if err != nil {
			return err
		}
		for _, c := range commands {
			a := archive{command: filepath.Base(c), version: version, platform: p}
			files, err := a.files(dir, manual, modules)
			if err != nil {
				return err
			}
			packed, err := pack(files, when, p)
			if err != nil {
				return err
			}
			a.sha256 = sha256.Sum256(packed)
			if err := os.WriteFile(filepath.Join(out, a.name()), packed, 0o644); err != nil {
				return err
			}
			archives = append(archives, a)
		}
	}
	chart, err := chart(filepath.Join("charts", "polex-guard"), out, version, when)
	if err != nil {
		return err
	}
	if err := roots(filepath.Join(out, "ca-certificates.crt")); err != nil {
		return err
	}
	return manifests(out, version, archives, chart)
}

// archive is the archive of a command for a platform.
type archive struct {
	command, version string
	platform         platform
	sha256           [sha256.Size]byte
}

func (a archive) name() string {
	suffix := ".tar.gz"
	if a.platform.os == "windows" {
		suffix = ".zip"
	}
	return fmt.Sprintf("%s_%s_%s%s", a.command, strings.TrimPrefix(a.version, "v"), a.platform, suffix)
}

// files returns the content of an archive. It writes the licences and the SBOM to the folder of the
// program.
func (a archive) files(dir string, manual []entry, modules map[string]string) ([]entry, error) {
	program := a.platform.program(a.command)
	path := filepath.Join(dir, program)
	notices, bom := path+".licenses.txt", path+".cdx.json"
	if err := licenses(path, notices, modules); err != nil {
		return nil, err
	}
	if err := sbom(path, bom, a.version); err != nil {
		return nil, err
	}
	files := []entry{
		{"LICENSE", "LICENSE", 0o644}, {"README.md", "README.md", 0o644},
		{"THIRD-PARTY-LICENSES.txt", notices, 0o644}, {"sbom.cdx.json", bom, 0o644}, {program, path, 0o755},
	}
	for _, page := range manual {
		name := strings.TrimPrefix(page.name, "man/")
		if a.command == "polex" || strings.HasPrefix(name, a.command+".") || strings.HasPrefix(name, a.command+"-") {
			files = append(files, page)
		}
	}
	return files, nil
}

// committed returns the time of the commit, which becomes the time of every file.
func committed() (time.Time, error) {
	out, err := exec.Command("git", "show", "--no-patch", "--format=%ct", "HEAD").Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("ask git for the commit's time: %w", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Unix(seconds, 0), err
}

// tags omit gRPC's trace pages, like the Makefile: they are a quarter of some commands.
const tags = "grpcnotrace"

// environment returns the environment in which Go builds for a platform. The programs are static.
func (p platform) environment(cmd *exec.Cmd) []string {
	return append(cmd.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
}

// build builds every command for a platform, without paths of this machine.
func build(p platform, version, dir string) error {
	const stamp = "github.com/polex-dev/polex/internal/command/cli.Version="
	cmd := exec.Command("go", "build", "-tags="+tags, "-trimpath", "-ldflags=-s -w -X "+stamp+version, "-o", dir+string(filepath.Separator), "./cmd/...") // #nosec G204 -- a version without a space
	cmd.Env = p.environment(cmd)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", p, err)
	}
	return nil
}
