package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

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
