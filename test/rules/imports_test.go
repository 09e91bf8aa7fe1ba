package rules_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// house lists the packages under pkg/ (the public library) and internal/, with the packages that each may import. A
// package below another one, such as pkg/trust/publicgood, follows the line of that one unless it has its own.
var house = map[string][]string{
	"exception":      {},
	"kyverno":        {"exception"},
	"kyverno/schema": {"exception"},
	// It writes exceptions with their expiry.
	"kyverno/translate": {"exception", "kyverno", "kyverno/schema", "lifetime"},
	"shape":             {"exception", "kyverno", "kyverno/schema", "lifetime", "seal", "trust/policyfile"},
	"seal":              {"exception"},
	"request":           {"exception", "kyverno", "lifetime", "plain", "promotion/renewal", "seal", "shape"},
	"promotion/renewal": {"exception", "kyverno/schema", "seal"},
	"adopt":             {"exception", "kyverno", "kyverno/schema", "lifetime", "plain", "seal", "shape"},
	"lifetime":          {"exception"},
	"trust":             {"exception", "kyverno", "lifetime", "trust/policyfile"},
	"trust/policyfile":  {"exception", "kyverno", "lifetime"},
	"verify":            {"exception", "seal", "trust", "trust/policyfile", "lifetime"},
	"config":            {"exception", "kyverno", "lifetime", "trust/policyfile"},
	"retry":             {},
	"apiserver":         {},
	"sign":              {"exception", "kyverno/schema", "lifetime", "retry", "seal", "trust", "verify"},
	"git":               {},
	"git/commit":        {"forge", "git", "retry"},
	"tufroot":           {"trust"},
	"forge":             {"retry"},
	"forge/github":      {"forge", "retry"},
	"review":            {"exception", "forge", "git"},
	// It is separate from review, which uses no signatures.
	"review/record":           {"exception", "git", "promotion", "review", "verify"},
	"promotion/pending":       {"exception"},
	"promotion/commitmessage": {"exception", "seal"},
	"promotion/deliver":       {"git", "git/commit"},
	"promotion":               {"promotion/commitmessage", "promotion/deliver", "exception", "forge", "git", "git/commit", "kyverno/schema", "lifetime", "promotion/pending", "promotion/renewal", "retry", "seal", "shape", "sign", "trust", "verify"},
	"prune":                   {"promotion/commitmessage", "promotion/deliver", "exception", "git", "git/commit", "lifetime", "promotion/pending", "plain", "seal", "usage"},
	// internal/kyverno decides for all callers if an exception reaches the guard. pkg/shape would bring CEL's compiler.
	"guard":  {"config", "exception", "git", "kyverno", "plain", "seal", "trust", "verify", "lifetime"},
	"ledger": {"promotion/commitmessage", "exception", "git", "kyverno", "lifetime", "promotion/pending", "plain", "usage", "verify"},
	// It is separate from the ledger, which has no network.
	"ledger/cluster": {"apiserver", "exception", "kyverno", "seal", "usage"},
	"usage":          {"exception", "kyverno"},
	// It is separate from usage, which runs no program.
	"usage/kyvernocli": {"plain", "usage"},
	"report":           {"ledger", "lifetime", "plain", "usage"},
	"plain":            {},
	"notify":           {"exception", "ledger", "plain", "usage"},
	"notify/send":      {"notify", "retry"},
}

// public lists the packages under pkg/.
var public = []string{"exception", "lifetime", "seal", "shape", "sign", "trust", "verify"}

// workshop lists the packages under internal/ for tests, releases and the sandbox.
var workshop = []string{"release", "sandbox", "forge/githubtest"}

// commands may import all packages of the house, and none of these may import a command.
const commands = "internal/command"

// pure packages do no I/O and read no clock: the same input gives the same answer.
var pure = []string{"exception", "kyverno", "shape", "seal", "lifetime", "verify", "promotion/pending", "promotion/commitmessage", "promotion/renewal", "request", "adopt", "report", "plain", "notify", "usage"}

// powers lists abilities that come with an import, and the packages that may have them. A path
// includes the packages below it, unless it ends in "$".
var powers = []struct {
	what    string
	imports []string
	who     []string
}{
	{"read files", []string{"os", "io/ioutil"}, []string{"config", "trust", "sign", "git", "git/commit", "promotion", "promotion/deliver", "guard", "ledger", "tufroot", "usage/kyvernocli"}},
	{"run programs", []string{"os/exec", "syscall", "plugin", "golang.org/x/sys"}, []string{"sign", "git", "guard", "ledger", "usage/kyvernocli"}},
	{"use the network", []string{"net$", "net/http", "net/rpc", "net/smtp", "crypto/tls", "golang.org/x/net", "google.golang.org/grpc"}, []string{"retry", "sign", "forge/github", "notify/send", "guard", "apiserver"}},
	{"use TUF", []string{"github.com/theupdateframework/go-tuf", "github.com/sigstore/sigstore-go/pkg/tuf", "github.com/sigstore/sigstore/pkg/tuf"}, []string{"tufroot"}},
	{"use SHA-1", []string{"crypto/sha1", "github.com/pjbgf/sha1cd"}, []string{"git"}},
	{"use a Kubernetes client", []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"}, []string{"guard", "apiserver"}},
}

// covers reports whether path is pattern or is below it.
func covers(pattern, path string) bool {
	if exact, ok := strings.CutSuffix(pattern, "$"); ok {
		return path == exact
	}
	return path == pattern || strings.HasPrefix(path, pattern+"/")
}

// rooms matches all packages of the house.
var rooms = []string{"./pkg/...", "./internal/..."}

// room returns the package of the house that a path belongs to, or "".
func room(path string) string {
	rest, ok := strings.CutPrefix(path, module+"/pkg/")
	if !ok {
		rest, ok = strings.CutPrefix(path, module+"/internal/")
	}
	name, _, _ := strings.Cut(rest, "/")
	if !ok || covers(module+"/"+commands, path) ||
		slices.ContainsFunc(workshop, func(tool string) bool { return covers(tool, rest) }) {
		return ""
	}
	for own := range house {
		if strings.Contains(own, "/") && covers(own, rest) {
			return own
		}
	}
	return name
}

// inTheHouse returns the packages with a line in house.
func inTheHouse(t *testing.T) (found []pkg) {
	t.Helper()
	for _, p := range list(t, rooms...) {
		if room(p.ImportPath) != "" {
			found = append(found, p)
		}
	}
	return found
}

func TestEveryPackageIsInTheHouse(t *testing.T) {
	exists := map[string]bool{}
	for _, p := range inTheHouse(t) {
		name := room(p.ImportPath)
		exists[name] = true
		expect.Is(t, fmt.Sprintf("%s is in the wrong place: under pkg/ are %s", p.rel(), strings.Join(public, ", ")),
			slices.Contains(public, strings.SplitN(name, "/", 2)[0]), covers(module+"/pkg", p.ImportPath))
		if _, ok := house[name]; !ok {
			t.Errorf("%s is not in the house: say here what it may import", p.rel())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(house)) {
		expect.That(t, exists[name], "the house has a line for %s, which does not exist", name)
	}
}

func TestImports(t *testing.T) {
	for _, p := range inTheHouse(t) {
		for _, v := range violations(p) {
			t.Errorf("%s %s", p.rel(), v)
		}
	}
}

// violations returns the imports of p that break a rule.
func violations(p pkg) []string {
	var found []string
	self := room(p.ImportPath)
	for _, path := range p.Imports {
		switch other := room(path); {
		case other != "" && other != self && !slices.Contains(house[self], other):
			found = append(found, "imports "+other+", which it may not")
		case other == "" && covers(module, path):
			found = append(found, "imports "+path+": the house stands on nothing else of this module")
		}
		for _, power := range powers {
			if !slices.Contains(power.who, self) && slices.ContainsFunc(power.imports, func(pattern string) bool { return covers(pattern, path) }) {
				found = append(found, "imports "+path+": only "+strings.Join(power.who, ", ")+" may "+power.what)
			}
		}
	}
	return found
}

// TestViolations tests the rule itself.
func TestViolations(t *testing.T) {
	for _, tc := range []struct {
		from, imports string
		want          int
	}{
		{"pkg/exception", "strings", 0},
		{"pkg/exception", "net/url", 0},
		{"pkg/exception", module + "/pkg/seal", 1},
		{"pkg/shape", module + "/pkg/lifetime", 0},
		{"pkg/seal", module + "/pkg/lifetime", 1},
		{"pkg/seal", "net", 1},
		{"pkg/seal/internal/gz", "net/http/httptrace", 1},
		{"pkg/verify", module + "/pkg/trust", 0},
		{"pkg/verify", module + "/pkg/trust/publicgood", 0},
		{"pkg/verify", module + "/pkg/sign", 1},
		{"pkg/verify", module + "/internal/sandbox", 1},
		{"pkg/verify", module + "/internal/kyverno", 1},
		{"internal/guard", module + "/internal/kyverno", 0},
		{"internal/guard", module + "/pkg/shape", 1},
		{"internal/kyverno", module + "/pkg/exception", 0},
		{"internal/kyverno", module + "/pkg/shape", 1},
		{"internal/kyverno/wildcard", "os", 1},
		{"pkg/verify", "os", 1},
		{"pkg/verify", "os/exec", 2},
		{"pkg/verify", "github.com/sigstore/sigstore-go/pkg/verify", 0},
		{"pkg/verify", "github.com/sigstore/sigstore-go/pkg/tuf", 1},
		{"pkg/trust", "os", 0},
		{"pkg/trust", "os/exec", 1},
		{"pkg/trust", "net/http", 1},
		{"pkg/trust/publicgood", module + "/pkg/trust", 0},
		{"pkg/sign", "net/http", 0},
		{"pkg/sign", module + "/internal/retry", 0},
		{"pkg/verify", module + "/internal/retry", 1},
		{"internal/retry", "os", 1},
		{"internal/promotion", module + "/internal/command/cli", 1},
		{"pkg/verify", module + "/internal/command/verify", 1},
		{"internal/notify", "net/http", 1},
		{"internal/notify/send", "net/http", 0},
		{"internal/notify/send", "os", 1},
		{"pkg/sign", "github.com/pjbgf/sha1cd", 1},
		{"internal/git/commit", "crypto/sha1", 1},
		{"internal/promotion", "k8s.io/client-go/kubernetes", 1},
		{"internal/git", "github.com/pjbgf/sha1cd", 0},
		{"internal/git", "os/exec", 0},
		{"pkg/verify", module + "/internal/git", 1},
	} {
		p := pkg{ImportPath: module + "/" + tc.from, Imports: []string{tc.imports}}
		if got := violations(p); len(got) != tc.want {
			t.Errorf("%s importing %s: %d violations %q, want %d", tc.from, tc.imports, len(got), got, tc.want)
		}
	}
}

func TestPurePackagesHaveNoClock(t *testing.T) {
	for _, p := range inTheHouse(t) {
		if !slices.Contains(pure, room(p.ImportPath)) {
			continue
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			file := must.Get(parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0))(t)
			for _, pos := range clocks(file) {
				t.Errorf("%s/%s:%d uses the clock: now is a parameter", p.rel(), name, fset.Position(pos).Line)
			}
		}
	}
}

// clocks returns the places where a file reads the time or waits.
func clocks(file *ast.File) []token.Pos {
	asks := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	var found []token.Pos
	local := ""
	for _, spec := range file.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); path == "time" {
			local = "time"
			if spec.Name != nil {
				local = spec.Name.Name
			}
			if local == "." {
				found = append(found, spec.Pos())
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(asks, sel.Sel.Name) {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				found = append(found, sel.Pos())
			}
		}
		return true
	})
	return found
}

func TestClocks(t *testing.T) {
	for src, want := range map[string]int{
		`import "time"; var x = time.Hour`:                          0,
		`import "time"; var x = time.Now()`:                         1,
		`import "time"; var x = time.Now`:                           1,
		`import clock "time"; func f() { clock.Sleep(clock.Hour) }`: 1,
		`import . "time"; var x = Now()`:                            1,
		`import "example.com/now"; var x = now.Now()`:               0,
	} {
		file := must.Get(parser.ParseFile(token.NewFileSet(), "x.go", "package x; "+src, 0))(t)
		expect.Is(t, src, want, len(clocks(file)))
	}
}

// TestNothingThatShipsPullsIn checks all dependencies of the released packages. Each banned one
// would bring a hundred megabytes, or a second verifier, into the binary.
func TestNothingThatShipsPullsIn(t *testing.T) {
	banned := []string{
		"github.com/kyverno/kyverno",
		"github.com/sigstore/k8s-manifest-sigstore",
		"github.com/sigstore/cosign/v2/cmd",
	}
	for _, p := range list(t, "-deps", "./pkg/...", "./cmd/...") {
		for _, path := range append(p.Imports, p.ImportPath) {
			expect.That(t, !slices.ContainsFunc(banned, func(b string) bool { return covers(b, path) }),
				"%s is or imports %s", p.ImportPath, path)
		}
	}
}

// TestOnly lists packages that only some others, and those below them, may import.
func TestOnly(t *testing.T) {
	importers := map[string][]string{
		"internal/tufroot": {commands + "/sign"},            // nothing that verifies fetches a trusted root
		"internal/sandbox": {commands + "/sandbox", "test"}, // it makes its own trusted root
	}
	binaries := must.Get(filepath.Glob("../../cmd/polex-*"))(t)
	must.That(t, len(binaries) > 0, "there are no commands")
	for _, binary := range binaries { // a command does not link another one: only polex links them all
		_, name, _ := strings.Cut(filepath.Base(binary), "-")
		importers[commands+"/"+name] = []string{"cmd/polex-" + name, commands + "/polex"}
	}
	for _, p := range list(t, "./...") {
		for path, may := range importers {
			if covers(path, p.rel()) || slices.ContainsFunc(may, func(i string) bool { return covers(i, p.rel()) }) {
				continue
			}
			expect.That(t, !slices.ContainsFunc(p.Imports, func(imported string) bool { return covers(module+"/"+path, imported) }),
				"%s imports %s: only %s may", p.rel(), path, strings.Join(may, ", "))
		}
	}
}
