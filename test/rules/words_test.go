package rules_test

import (
	"bytes"
	"fmt"
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
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/expect"
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
		expect.That(t, path.Base(name) != "go.mod" || strings.Contains(name, "/testdata/") || line.Match(read(t, name)),
			"%s does not say go 1.26", name)
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
				expect.Is(t, set.Position(text.Pos()).String(), "", oldWords.FindString(text.Value))
			}
			return true
		})
	}
}

// endings are the policies that read the expiry of an exception.
var endings = []string{"cleanup/deletingpolicy.yaml", "cleanup/clustercleanuppolicy.yaml", "generate/clusterpolicy.yaml", "generate/generatingpolicy.yaml"}

// TestEndings: a policy reads a text as a time if and only if it is one. Any other text would stop
// the policy, or be an expression in another one.
func TestEndings(t *testing.T) {
	written := regexp.MustCompile(`'(\^[^']+\$)'`)
	one := ""
	for _, name := range endings {
		text := must.Get(os.ReadFile(filepath.Join("..", "..", "policies", name)))(t)
		found := written.FindAllStringSubmatch(string(text), -1)
		must.That(t, len(found) != 0, "%s asks for no time", name)
		for _, match := range found {
			if one == "" {
				one = match[1]
			}
			expect.Is(t, name+": time", one, match[1])
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var policy struct{ Metadata struct{ Name string } }
			must.Do(t, yaml.Unmarshal([]byte(document), &policy))
			// No exception may reach policies with this prefix.
			expect.That(t, strings.HasPrefix(policy.Metadata.Name, "polex-"),
				"%s: an exception may reach %q", name, policy.Metadata.Name)
		}
	}
	asked := must.Get(regexp.Compile(one))(t)
	for _, text := range texts() {
		_, err := time.Parse(time.RFC3339, text)
		if got, want := asked.MatchString(text), err == nil; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// texts returns valid and invalid days of the century, valid and invalid minutes of a day, zones,
// and texts that look like a time.
func texts() []string {
	all := []string{"", "soon", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00Z\n", "\n2026-01-01T00:00:00Z", "2026-01-01T00:00:00z",
		"2026-01-01t00:00:00Z", "2026-01-01T00:00:00Z' || true || '", "{{ end }}", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00Z", "26-01-01T00:00:00Z"}
	for year := range 100 {
		for month := range 14 {
			for day := range 33 {
				all = append(all, fmt.Sprintf("20%02d-%02d-%02dT23:59:59Z", year, month, day))
			}
		}
	}
	for hour := range 26 {
		for minute := range 62 {
			all = append(all, fmt.Sprintf("2026-02-28T%02d:%02d:00Z", hour, minute), fmt.Sprintf("2026-02-28T23:%02d:%02dZ", minute, hour*3))
		}
	}
	for hour := range 24 {
		all = append(all, fmt.Sprintf("2026-02-28T00:00:00+%02d:59", hour), fmt.Sprintf("2026-02-28T00:00:00-%02d:00", hour))
	}
	return all
}
