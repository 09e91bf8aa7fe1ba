package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are the platforms of a release.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}}

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

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
	var checksums strings.Builder
	for _, p := range platforms {
		dir := filepath.Join(out, p.String())
		if err := build(p, version, dir); err != nil {
			return err
		}
		files := []entry{{"LICENSE", "LICENSE", 0o644}, {"README.md", "README.md", 0o644}}
		for _, c := range commands {
			files = append(files, entry{filepath.Base(c), filepath.Join(dir, filepath.Base(c)), 0o755})
		}
		files = append(files, manual...)
		packed, err := pack(files, when)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("polex_%s_%s.tar.gz", strings.TrimPrefix(version, "v"), p)
		if err := os.WriteFile(filepath.Join(out, name), packed, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&checksums, "%x  %s\n", sha256.Sum256(packed), name)
	}
	packed, name, err := chart(filepath.Join("charts", "polex-guard"), filepath.Join(out, "chart"), version, when)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, name), packed, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(&checksums, "%x  %s\n", sha256.Sum256(packed), name)
	return os.WriteFile(filepath.Join(out, "checksums.txt"), []byte(checksums.String()), 0o644)
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

// build builds every command for a platform: static, and without paths of this machine. Like the
// Makefile, it omits gRPC's trace pages, which are a quarter of some commands.
func build(p platform, version, dir string) error {
	const stamp = "github.com/polex-dev/polex/internal/command/cli.Version="
	cmd := exec.Command("go", "build", "-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w -X "+stamp+version, "-o", dir+string(filepath.Separator), "./cmd/...") // #nosec G204 -- a version without a space
	cmd.Env = slices.Concat(cmd.Environ(), []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0"})
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", p, err)
	}
	return nil
}
