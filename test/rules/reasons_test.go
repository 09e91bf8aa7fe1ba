package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReasonsAreListed: every constant that names a reason is in its package's list, the source for
// SARIF and the documentation.
func TestReasonsAreListed(t *testing.T) {
	found := 0
	for _, tree := range []string{"internal/command", "internal/guard", "internal/promotion", "internal/request", "internal/review", "pkg"} {
		declared, listed := reasonsIn(t, tree)
		for name, value := range declared {
			if found++; listed[name] == "" {
				t.Errorf("%s = %s is in no list of reasons", name, value)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d reasons are declared", found)
	}
}

// reasonsIn returns the constants of a tree that name a reason, with their values, and the line about
// each of them in a list.
func reasonsIn(t *testing.T, tree string) (declared, listed map[string]string) {
	t.Helper()
	called := regexp.MustCompile(`^[rR]eason[A-Z]`)
	declared, listed = map[string]string{}, map[string]string{}
	err := filepath.WalkDir(filepath.Join("..", "..", filepath.FromSlash(tree)), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if value, ok := first(n.Values).(*ast.BasicLit); ok && value.Kind == token.STRING && called.MatchString(n.Names[0].Name) {
					declared[filepath.Dir(path)+" "+n.Names[0].Name] = value.Value
				}
			case *ast.CompositeLit:
				name, doc := documents(n)
				if doc != "" {
					listed[filepath.Dir(path)+" "+name] = doc
				}
				if doc != "" && strings.HasPrefix(name, `"`) {
					declared[filepath.Dir(path)+" "+name] = name
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return declared, listed
}

func first(all []ast.Expr) ast.Expr {
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// documents returns the constant and the text in exception.Reason{Name: …, Doc: …}. In a table of
// {name: "…", doc: "…"}, the name is a text, which is returned with its quotes.
func documents(literal *ast.CompositeLit) (name, doc string) {
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return "", ""
		}
		key, ok := pair.Key.(*ast.Ident)
		if !ok {
			return "", ""
		}
		switch key.Name {
		case "Name", "name":
			switch value := pair.Value.(type) {
			case *ast.Ident:
				name = value.Name
			case *ast.SelectorExpr:
				name = value.Sel.Name
			case *ast.BasicLit:
				if key.Name == "name" {
					name = value.Value
				}
			}
		case "Doc", "doc":
			doc = textOf(pair.Value)
		}
	}
	return name, doc
}

// textOf returns a text, or the sum of texts.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	}
	return ""
}
