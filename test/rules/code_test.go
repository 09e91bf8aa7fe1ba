package rules_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// internalNames are the exported names under pkg/ whose declaration names a type of internal/. Other
// modules can use such a value, but cannot name its type or read its documentation.
var internalNames = map[string]string{
	// An alias is the public name of the type.
	"pkg/shape.PolicySet":   "kyverno.PolicySet",
	"pkg/shape.ResourceSet": "match.Resources",
	// These go when their packages are public.
	"pkg/sign.Timing":            "retry.Timing",
	"pkg/trust/policyfile.Names": "wildcard.Names",
}

// TestNoInternalTypeInSignatures: what pkg/ exports names no type of internal/, except for internalNames.
func TestNoInternalTypeInSignatures(t *testing.T) {
	found := map[string]string{}
	must.Do(t, filepath.WalkDir("../../pkg", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "internal" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../../")
		for declared, of := range internalSignatures(file) {
			found[dir+"."+declared] = of
		}
		return nil
	}))
	for name, of := range found {
		expect.That(t, internalNames[name] == of, "%s names %s, a type of internal/", name, of)
	}
	for name := range internalNames {
		expect.That(t, found[name] != "", "%s no longer names a type of internal/: remove it from internalNames", name)
	}
}

// internalSignatures returns the exported names of a file whose signature or exported field names a
// type of internal/, with that type.
func internalSignatures(file *ast.File) map[string]string {
	imported, found := map[string]bool{}, map[string]string{}
	for _, spec := range file.Imports {
		of, _ := strconv.Unquote(spec.Path.Value)
		if name := path.Base(of); strings.Contains(of, "/internal/") {
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imported[name] = true
		}
	}
	var note func(name string, node ast.Node)
	members := func(name string, list *ast.FieldList) bool { // an unexported one is not part of the interface
		for _, f := range list.List {
			if len(f.Names) == 0 || f.Names[0].IsExported() {
				note(name, f.Type)
			}
		}
		return false
	}
	note = func(name string, node ast.Node) {
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StructType:
				return members(name, n.Fields)
			case *ast.InterfaceType:
				return members(name, n.Methods)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && imported[x.Name] {
					found[name] = x.Name + "." + n.Sel.Name
				}
			}
			return true
		})
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				receiver := strings.TrimPrefix(typeText(d.Recv.List[0].Type), "*")
				if !ast.IsExported(receiver) {
					continue
				}
				name = receiver + "." + name
			}
			if d.Name.IsExported() {
				note(name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						note(s.Name.Name, s.Type)
					}
				case *ast.ValueSpec:
					if s.Names[0].IsExported() && s.Type != nil {
						note(s.Names[0].Name, s.Type)
					}
				}
			}
		}
	}
	return found
}

func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeText(e.X)
	case *ast.IndexExpr:
		return typeText(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// TestPackageNames: a package is a noun of the domain.
func TestPackageNames(t *testing.T) {
	vague := []string{"util", "utils", "common", "helper", "helpers", "misc"}
	for _, p := range list(t, "./...") {
		expect.That(t, !slices.Contains(vague, p.Name),
			"%s is package %s: name it for what it is about", p.rel(), p.Name)
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
