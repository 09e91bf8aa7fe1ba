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

	"github.com/polex-dev/polex/test/must"
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
	words := []string{"/wo" + "rk/", "proxy." + "golang.org", "registry." + "npmjs", "/tmp/" + "bash_jobs"}
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

// oldWords are phrases that readers of messages understood only at the second reading.
var oldWords = regexp.MustCompile(`(?i)\b(?:does not go with|the cause is gone|are the most|(?:signed|requested|drafted) anew|(?:this|it) is no|is no (?:name|file|folder|link|address|hash)|` +
	`cannot be meant|is not read here|for its subject|witnessed when|vouch(?:es)? for the (?:log entry|certificate)|cut off|carr(?:y|ies) a seal|asks? of|asked of|lies? in each other|does not lie)\b`)

// TestMessages: no string of the programs has such a phrase. vale reads comments and documents, and
// not the strings in Go.
func TestMessages(t *testing.T) {
	for _, name := range files(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/") || strings.Contains(name, "/testdata/") {
			continue
		}
		set := token.NewFileSet()
		file := must.Get(parser.ParseFile(set, name, read(t, name), 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if phrase := oldWords.FindString(text.Value); phrase != "" {
					t.Errorf("%s: %q needs a second reading", set.Position(text.Pos()), phrase)
				}
			}
			return true
		})
	}
}
