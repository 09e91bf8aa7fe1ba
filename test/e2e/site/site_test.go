//go:build e2e

package site

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/browser"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// root is the root of the repository.
const root = "../../.."

// repository is where links to files outside of docs/ lead.
var repository = regexp.MustCompile(`^https://github\.com/polex-dev/polex/(?:blob|tree)/main/([^#]+)`)

// page is one page as the browser has it.
type page struct {
	links   []string
	anchors []string
}

// view is the width and the colours of a window.
type view struct {
	width  int
	scheme string
}

// TestSite builds the site and opens each page in Chromium, with the width of a phone and of a screen, in light or dark
// mode. Each link and anchor has a target, nothing overflows, no other host gets a request, and no error is logged. The
// search finds a reason. POLEX_TEST_SCREENSHOTS is a folder for screenshots, of each width in both modes.
func TestSite(t *testing.T) {
	address, names := serve(t)
	b := browser.Start(t)
	b.Own = address
	pages := map[string]page{}
	views := []view{{400, "light"}, {1280, "dark"}}
	pictures := os.Getenv("POLEX_TEST_SCREENSHOTS") != ""
	if pictures {
		views = append(views, view{400, "dark"}, view{1280, "light"})
	}
	for _, view := range views {
		b.Call("Emulation.setDeviceMetricsOverride", browser.Object{"width": view.width, "height": 900, "deviceScaleFactor": 1, "mobile": view.width < 500})
		b.Call("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": view.scheme}}})
		// The theme keeps the reader's choice, and there is none.
		b.Open(address + "404.html")
		b.Evaluate(`localStorage.clear()`)
		for _, name := range names {
			b.Noise = nil
			b.Open(address + name)
			got := b.Evaluate(`document.documentElement.scrollWidth`)
			expect.That(t, got == float64(view.width), "%s is %v wide in a window of %d", name, got, view.width)
			if got := b.Evaluate(`document.body.dataset.mdColorScheme`); got != map[string]string{"light": "default", "dark": "slate"}[view.scheme] {
				t.Errorf("%s is %v for a reader of %s colours", name, got, view.scheme)
			}
			for _, line := range b.Noise {
				t.Errorf("%s: %s", name, line)
			}
			pages[name] = page{
				texts(b.Evaluate(`[...document.querySelectorAll("a[href]")].map(a => a.href)`)),
				texts(b.Evaluate(`[...document.querySelectorAll("[id]")].map(e => e.id)`)),
			}
			if pictures {
				b.Keep(t, "body", view.width, fmt.Sprintf("site-%s-%d-%s.png", strings.ReplaceAll(name, "/", "-"), view.width, view.scheme))
			}
		}
	}
	for name, p := range pages {
		for _, link := range p.links {
			expect.Is(t, name, "", dead(link, address, pages))
		}
	}

	b.Noise = nil
	b.Open(address + "index.html")
	if got := texts(b.Evaluate(search)); !slices.ContainsFunc(got, func(link string) bool { return strings.Contains(link, "/reference/reasons.html") }) {
		t.Errorf("the search for %q finds %q", "expired", got)
	}
	for _, line := range b.Noise {
		t.Errorf("the search: %s", line)
	}
}

// search types into the field and returns the addresses of the results.
const search = `(async () => {
	const field = document.querySelector(".md-search__input")
	field.focus()
	field.value = "expired"
	for (let i = 0; i < 100; i++) {
		field.dispatchEvent(new Event("keyup", {bubbles: true}))
		const found = [...document.querySelectorAll("a.md-search-result__link")].map(a => a.href)
		if (found.length) return found
		await new Promise(done => setTimeout(done, 100))
	}
	return []
})()`

// serve builds the site and serves it on loopback. It returns its address and its pages.
func serve(t *testing.T) (address string, names []string) {
	t.Helper()
	dir := t.TempDir()
	mkdocs := exec.CommandContext(t.Context(), "make", "docs", "SITE="+dir)
	mkdocs.Dir = root
	must.Run(t, mkdocs)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); filepath.Ext(name) == ".html" && name != "404.html" {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	must.That(t, err == nil && len(names) >= 20, "%d pages: %v", len(names), err)
	server := httptest.NewServer(http.FileServerFS(os.DirFS(dir)))
	t.Cleanup(server.Close)
	return server.URL + "/", names
}

// dead returns the reason that a link leads nowhere, or "".
func dead(link, address string, pages map[string]page) string {
	if m := repository.FindStringSubmatch(link); m != nil {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			return link + " leads to no file of the repository"
		}
		return ""
	}
	target, own := strings.CutPrefix(link, address)
	if !own || strings.HasSuffix(target, ".schema.json") {
		return ""
	}
	name, fragment, _ := strings.Cut(target, "#")
	if name == "" {
		name = "index.html" // where the server sends the reader
	}
	switch p, there := pages[name]; {
	case !there:
		return link + " leads to no page"
	case fragment != "" && !slices.Contains(p.anchors, fragment):
		return link + " leads to no anchor"
	}
	return ""
}

func texts(list any) []string {
	var all []string
	for _, text := range list.([]any) {
		all = append(all, text.(string))
	}
	return all
}
