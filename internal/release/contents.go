package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// modules returns the folders of a platform's modules in the module cache, by path and version.
func modules(p platform) (map[string]string, error) {
	list := exec.Command("go", "list", "-deps", "-tags="+tags, "-f", `{{with .Module}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}`, "./cmd/...") // #nosec G204 -- constants
	list.Env, list.Stderr = p.environment(list), os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs[name] = dir
	}
	return dirs, nil
}

// license matches the files of a module that have to accompany its binaries.
var license = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// licenses writes the licences of Go and of every module of a program to a file. A module without a
// licence is an error, because nobody may distribute it.
func licenses(program, to string, modules map[string]string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read modules: %w", err)
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("find the licence of Go: %w", err)
	}
	names := []string{runtime.Version()}
	dirs := map[string]string{runtime.Version(): string(bytes.TrimSpace(goroot))}
	for _, m := range info.Deps {
		name := m.Path + "@" + m.Version
		names, dirs[name] = append(names, name), modules[name]
	}
	var text bytes.Buffer
	for _, name := range names {
		files, err := os.ReadDir(dirs[name])
		if err != nil {
			return fmt.Errorf("find the licence of %s: %w", name, err)
		}
		found := false
		for _, f := range files {
			if f.IsDir() || !license.MatchString(f.Name()) {
				continue
			}
			one, err := os.ReadFile(filepath.Join(dirs[name], f.Name()))
			if err != nil {
				return fmt.Errorf("find the licence of %s: %w", name, err)
			}
			fmt.Fprintf(&text, "==== %s: %s ====\n\n%s\n", name, f.Name(), one)
			found = true
		}
		if !found {
			return fmt.Errorf("module %s has no licence file in %s", name, dirs[name])
		}
	}
	return os.WriteFile(to, text.Bytes(), 0o644)
}

// sbom writes the SBOM of a program in CycloneDX, from the list of modules that Go has put into it.
// Serial number and time would differ between two builds.
func sbom(program, to, version string) error {
	var paths [2]string
	for i, path := range []string{program, to} {
		var err error
		if paths[i], err = filepath.Abs(path); err != nil {
			return err
		}
	}
	tool := exec.Command("go", "-C", filepath.Join("test", "tools", "cyclonedx"), "tool", "cyclonedx-gomod", "bin", // #nosec G204 -- a version without a space
		"-json", "-std", "-noserial", "-notimestamp", "-version", version, "-output", paths[1], paths[0])
	var log bytes.Buffer
	tool.Stdout, tool.Stderr = &log, &log
	if err := tool.Run(); err != nil {
		return fmt.Errorf("write the SBOM of %s: %w\n%s", program, err, log.Bytes())
	}
	return nil
}
