package rules_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
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
	expect.That(t, found >= 100, "only %d reasons are declared", found)
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
	must.Do(t, err)
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

var update = flag.Bool("update", false, "write the other reasons in docs/reference/reasons.md anew")

const reasonsPage = "docs/reference/reasons.md"

// reporters are the folders with the reasons of the last section of the page, and the line above each
// list. The sections before have those of pkg/verify, internal/command/cli and pkg/shape.
var reporters = map[string]string{
	"internal/adopt":               ofAdopt,
	"internal/command/adopt":       ofAdopt,
	"internal/command/audit":       "`polex-audit notify` ([notifications](../how-to/audit.md))",
	"internal/command/prune":       "`polex-prune` ([pruning](../explanation/lifetimes.md#remove-expired-exceptions-from-git))",
	"internal/command/request":     ofRequest,
	"internal/command/shapeconfig": ofValidate,
	"internal/command/sign":        ofSign,
	"internal/command/validate":    ofValidate,
	"internal/guard":               "`polex-guard serve` ([the guard](guard.md#admission))",
	"internal/guard/doctor":        "`polex-guard check` ([the checks](guard.md#polex-guard-check))",
	"internal/promotion/pending":   ofSign,
	"internal/promotion":           ofSign,
	"internal/request":             ofRequest,
	"internal/review":              "approvals in `polex-sign` and `polex-validate` ([rules](../explanation/approvals.md))",
	"pkg/sign":                     ofSign,
}

const (
	ofAdopt    = "`polex adopt` ([adoption](../how-to/adopt.md#look-at-the-plan))"
	ofRequest  = "`polex-request` ([results](../how-to/request.md#results))"
	ofSign     = "`polex-sign` ([promotion](../how-to/promote.md))"
	ofValidate = "`polex-validate` ([validation](../how-to/validate.md))"
)

// TestReasonsPage compares the last section of the page with the lists of reasons. Every reason has an
// anchor on the page, to which the rules of SARIF lead.
func TestReasonsPage(t *testing.T) {
	text := string(read(t, reasonsPage))
	before, got, found := strings.Cut(text, "\n## Other reasons\n")
	must.That(t, found, "the page has no last section")
	if want := otherReasons(t, anchors(before)); *update {
		must.Do(t, os.WriteFile("../../"+reasonsPage, []byte(before+"\n## Other reasons\n"+want), 0o600))
	} else if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s is out of date; make generate (-want +got):\n%s", reasonsPage, diff)
	}
	page := anchors(string(read(t, reasonsPage)))
	for name, value := range declaredReasons(t) {
		expect.That(t, page[value], "%s has no anchor for %s, %s", reasonsPage, value, name)
	}
}

// declaredReasons returns the reasons of all commands, by folder and constant.
func declaredReasons(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, tree := range []string{"internal/adopt", "internal/command", "internal/guard", "internal/promotion/pending", "internal/promotion", "internal/request", "internal/review", "pkg"} {
		declared, _ := reasonsIn(t, tree)
		for name, value := range declared {
			all[strings.TrimPrefix(name, "../../")] = strings.Trim(value, `"`)
		}
	}
	return all
}

// otherReasons returns the last section. A reason without an anchor in the sections before gets one.
func otherReasons(t *testing.T, anchored map[string]bool) string {
	t.Helper()
	_, docs := reasonsIn(t, "internal")
	_, more := reasonsIn(t, "pkg")
	maps.Copy(docs, more)
	lists := map[string]map[string]string{}
	for name, reason := range declaredReasons(t) {
		folder, constant, _ := strings.Cut(name, " ")
		if list := reporters[folder]; list != "" {
			if lists[list] == nil {
				lists[list] = map[string]string{}
			}
			lists[list][reason] = cmp.Or(docs["../../"+name], docs["../../internal/command/adopt "+constant])
		}
	}
	var b strings.Builder
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		fmt.Fprintf(&b, "\nOf %s:\n\n", list)
		for _, reason := range slices.Sorted(maps.Keys(lists[list])) {
			anchor, doc := "", lists[list][reason]
			if !anchored[reason] {
				anchored[reason], anchor = true, `<a id="`+reason+`"></a>`
			}
			expect.That(t, doc != "", "no line about %s", reason)
			fmt.Fprintf(&b, "- %s`%s`: %s\n", anchor, reason, doc)
		}
	}
	return b.String()
}

// TestTroubleshooting: each message that docs/troubleshooting.md quotes is one of polex.
func TestTroubleshooting(t *testing.T) {
	symptoms := string(read(t, "docs/troubleshooting.md"))
	var source strings.Builder
	for _, name := range files(t) {
		if (strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "pkg/")) && path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			source.Write(read(t, name))
		}
	}
	text := regexp.MustCompile(`" ?\+\n\s*"`).ReplaceAllString(source.String(), "") // a message on several lines
	messages := 0
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| `).FindAllStringSubmatch(symptoms, -1) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if !strings.Contains(m[1], " ") {
				continue
			}
			messages++
			for part := range strings.SplitSeq(m[1], "…") {
				if part = strings.Trim(part, ` "`); !strings.Contains(text, part) {
					t.Errorf("docs/troubleshooting.md: no message says %q", part)
				}
			}
		}
	}
	expect.That(t, messages >= 15, "only %d messages are quoted", messages)
}
