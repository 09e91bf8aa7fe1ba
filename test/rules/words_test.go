package rules_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPackageNames: a package is a noun of the domain.
func TestPackageNames(t *testing.T) {
	vague := []string{"util", "utils", "common", "helper", "helpers", "misc"}
	for _, p := range list(t, "./...") {
		if slices.Contains(vague, p.Name) {
			t.Errorf("%s is package %s: name it for what it is about", p.rel(), p.Name)
		}
	}
	for _, name := range files(t) {
		if dir := path.Base(path.Dir(name)); strings.HasSuffix(name, ".go") && slices.Contains(vague, dir) {
			t.Errorf("%s is in a directory named %s: name it for what it is about", name, dir)
		}
	}
}

// TestPackageDocs: the documentation of a package is in its doc.go.
func TestPackageDocs(t *testing.T) {
	for _, p := range inTheHouse(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, "doc.go"), nil, parser.ParseComments)
		switch {
		case os.IsNotExist(err):
			t.Errorf("%s has no doc.go", p.rel())
		case err != nil:
			t.Error(err)
		case !documented(p.Name, file):
			t.Errorf("%s/doc.go has no comment that begins \"Package %s\" or \"Command\"", p.rel(), p.Name)
		}
	}
}

// documented reports whether a file's package comment begins with its package's name.
func documented(name string, file *ast.File) bool {
	text := file.Doc.Text()
	if name == "main" {
		return strings.HasPrefix(text, "Command ")
	}
	return strings.HasPrefix(text, "Package "+name+" ")
}

// TestNoFileMentions: no file contains traces of a development machine. The words are in parts here
// so that this file passes its own test.
func TestNoFileMentions(t *testing.T) {
	words := []string{
		"/wo" + "rk/",
		"proxy." + "golang.org",
		"registry." + "npmjs",
		"/tmp/" + "bash_jobs",
	}
	for _, name := range files(t) {
		info, err := os.Lstat(filepath.Join("..", "..", name))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		data := read(t, name)
		for _, word := range words {
			if i := bytes.Index(data, []byte(word)); i >= 0 {
				t.Errorf("%s:%d mentions %s", name, 1+bytes.Count(data[:i], []byte("\n")), word)
			}
		}
	}
}

// TestGoVersion: every module here builds with the same Go.
func TestGoVersion(t *testing.T) {
	line := regexp.MustCompile(`(?m)^go 1\.26(\.\d+)?$`)
	for _, name := range files(t) {
		if path.Base(name) == "go.mod" && !strings.Contains(name, "/testdata/") && !line.Match(read(t, name)) {
			t.Errorf("%s does not say go 1.26", name)
		}
	}
}
