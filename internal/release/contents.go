package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"

	"golang.org/x/mod/module"
)

// license matches the files of a module that have to accompany its binaries.
var license = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// licenses returns the licences of Go and of every module of a program. cache is the module cache. A module
// without a licence is an error, because nobody may distribute it.
func licenses(program, goroot, cache string) ([]byte, error) {
	names, dirs := []string{runtime.Version()}, []string{goroot}
	for _, m := range orExit(buildinfo.ReadFile(program)).Deps {
		names = append(names, m.Path+"@"+m.Version)
		dirs = append(dirs, filepath.Join(cache, orExit(module.EscapePath(m.Path))+"@"+orExit(module.EscapeVersion(m.Version))))
	}
	var text bytes.Buffer
	for i, name := range names {
		files, err := os.ReadDir(dirs[i])
		before := text.Len()
		for _, f := range files {
			if !f.IsDir() && license.MatchString(f.Name()) {
				fmt.Fprintf(&text, "==== %s: %s ====\n\n%s\n", name, f.Name(), read(filepath.Join(dirs[i], f.Name())))
			}
		}
		if text.Len() == before {
			return nil, errors.Join(fmt.Errorf("module %s has no licence file in %s", name, dirs[i]), err)
		}
	}
	return text.Bytes(), nil
}

// sbom returns the SBOM of a program in CycloneDX, from the list of modules that Go has put into it.
// Serial number and time would differ between two builds.
func sbom(program, version string) []byte {
	tool := exec.Command("go", "-C", filepath.Join("test", "tools", "cyclonedx"), "tool", "cyclonedx-gomod", "bin",
		"-json", "-std", "-noserial", "-notimestamp", "-version", version, orExit(filepath.Abs(program))) // #nosec G204 -- a version without a space
	var log bytes.Buffer
	tool.Stderr = &log
	bom, err := tool.Output()
	if err != nil {
		check(fmt.Errorf("write the SBOM of %s: %w\n%s", program, err, log.Bytes()))
	}
	return bom
}
