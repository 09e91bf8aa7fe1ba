//go:build e2e

package report

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/test/e2e/browser"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// saved writes a page, and returns its address.
func saved(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.html")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return "file://" + path
}

// TestBrowser opens the page in Chromium, with the width of a phone and of a screen, in light and dark mode. Nothing
// overflows, no request is made, and no error is logged. POLEX_TEST_SCREENSHOTS is a folder for screenshots.
func TestBrowser(t *testing.T) {
	b := browser.Start(t)
	address := saved(t, written(t, "html", large(120)))
	for _, width := range []int{400, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d %s", width, scheme), func(t *testing.T) {
				b.Noise = nil
				b.Call("Emulation.setDeviceMetricsOverride", browser.Object{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
				b.Call("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": scheme}}})
				b.Open(address)
				if got := b.Evaluate(`document.title + "|" + document.querySelectorAll("tbody[id]").length + "|" + (document.querySelectorAll("svg").length > 9)`); got != "Exceptions as of 2026-11-22|120|true" {
					t.Errorf("the page is %v", got)
				}
				got := b.Evaluate(`document.documentElement.scrollWidth`)
				expect.That(t, got == float64(width), "it is %v wide in a window of %d", got, width)
				expect.Is(t, "low contrast", "", b.Evaluate(contrast))
				expect.Is(t, "headings", "", b.Evaluate(headings))
				for _, line := range b.Noise {
					t.Error(line)
				}
				for i, part := range []string{"h1", "#current", "#removed", "#time", ".sums"} {
					b.Keep(t, part, width, fmt.Sprintf("ledger-%d-%s-%d.png", width, scheme, i))
				}
			})
		}
	}
}

// TestSearch: in the browser, words and a state select entries, and the page works without scripts.
func TestSearch(t *testing.T) {
	v, b := large(500), browser.Start(t)
	b.Open(saved(t, written(t, "html", v)))
	const shown = `document.querySelectorAll("tbody.entry:not([hidden])").length + "|" + document.getElementById("found").value + "|" + document.querySelectorAll("tbody.group:not([hidden])").length`
	search := func(words, state string) string {
		b.Evaluate(fmt.Sprintf(`(() => { words.value = %q; state.value = %q; words.dispatchEvent(new Event("input")) })()`, words, state))
		return fmt.Sprint(b.Evaluate(shown))
	}
	all := search("", "")
	one := search(v.Entries[7].Identity.Name+" "+strings.ToUpper(v.Entries[7].Identity.Namespace), "")
	expect.That(t, strings.HasPrefix(one, "1|1 of ") && strings.HasSuffix(one, "|1") && !strings.HasPrefix(all, "1|"),
		"one entry: %s, all: %s", one, all)
	got := search("no such words", "")
	expect.That(t, strings.HasPrefix(got, "0|0 of ") && strings.HasSuffix(got, "|0"), "%v", got)
	open := search("", "open")
	expect.That(t, open != all && !strings.HasPrefix(open, "0|"), "open: %s, all: %s", open, all)
	for _, line := range b.Noise {
		t.Error(line)
	}
}

// TestPrint: the PDF from Chromium contains every ticket, digest, commit and log index of the page.
func TestPrint(t *testing.T) {
	v, b := large(120), browser.Start(t)
	b.Open(saved(t, written(t, "html", v)))
	said, _ := b.Evaluate(`document.body.innerText`).(string)
	data, _ := b.Call("Page.printToPDF", browser.Object{"preferCSSPageSize": true})["data"].(string)
	raw := must.Get(base64.StdEncoding.DecodeString(data))(t)
	file := filepath.Join(cmp.Or(os.Getenv("POLEX_TEST_SCREENSHOTS"), t.TempDir()), "ledger.pdf")
	must.Do(t, os.WriteFile(file, raw, 0o600))
	text := must.Get(exec.Command("pdftotext", "-raw", file, "-").Output())(t)
	dense := func(text string) string { return strings.Join(strings.Fields(text), "") }
	printed, shown := dense(string(text)), dense(said)
	wanted := []string{v.Tip, v.Repository, v.Trust.Digest, v.Trust.Root, v.Trust.Signers[0].Identity, "2026-11-22T13:00:00Z"}
	for _, e := range v.Entries {
		wanted = append(wanted, e.Identity.Name, e.Said.Ticket, e.Said.Reason, e.Exempted[0].Names[0], plain.Time(e.ExpiresAt), e.Request.Commit)
		if e.Seal == nil {
			continue
		}
		wanted = append(wanted, e.Seal.MessageDigest)
		for _, s := range e.Seal.Signatures {
			wanted = append(wanted, s.Subject, s.Run, s.Commit, fmt.Sprint(s.LogIndex))
		}
	}
	for _, want := range wanted {
		if want := dense(plain.Line(want)); !strings.Contains(printed, want) {
			t.Errorf("the PDF lacks %s (the page has it: %t)", want, strings.Contains(shown, want))
		}
	}
}

// TestBrowserNotices: the checks of TestBrowser find the errors of a bad page.
func TestBrowserNotices(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	address := saved(t, `<!doctype html><title>bad</title><img src="`+server.URL+`/x"><p style="color:#ddd;background:#fff">pale</p><h3 style="width:1px;overflow-wrap:anywhere">xyz</h3><ul class="tiles"><li><b style="display:block;width:1px">xyz</b></ul><div style="width:3000px">wide</div>`)
	b := browser.Start(t)
	b.Call("Emulation.setDeviceMetricsOverride", browser.Object{"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": false})
	b.Open(address)
	expect.That(t, asked.Load() != 0 && strings.Contains(strings.Join(b.Noise, "\n"), server.URL),
		"a request is not noticed: %q", b.Noise)
	if b.Evaluate(contrast) == "" || b.Evaluate(headings) != "H3 after h0, not one h1, no language, too wide: xyz, broken: xyz" || b.Evaluate(`document.documentElement.scrollWidth`) == float64(390) {
		t.Error("what is pale, out of order or wide is not noticed")
	}
}

// contrast lists texts with a contrast below 4.5 to their background (WCAG 2, 1.4.3).
const contrast = `(() => {
	const rgb = c => c.match(/[\d.]+/g).map(Number)
	const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 }); return .2126 * r + .7152 * g + .0722 * b }
	const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c.slice(0, 3) } return [255, 255, 255] }
	const bad = new Set()
	for (const e of document.querySelectorAll("body *")) {
		const svg = e.tagName == "text"
		if (![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) || e.closest("title")) continue
		const style = getComputedStyle(e)
		const a = light(rgb(svg ? style.fill : style.color).slice(0, 3)), b = light(behind(e))
		const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05)
		if (ratio < 4.5) bad.add(e.tagName + "." + (e.getAttribute("class") || "") + " " + ratio.toFixed(2))
	}
	return [...bad].join(", ")
})()`

// headings lists headings in the wrong order, and tables and images without a name.
const headings = `(() => {
	const bad = []
	let last = 0
	for (const h of document.querySelectorAll("h1,h2,h3,h4")) { const n = +h.tagName[1]; if (n > last + 1) bad.push(h.tagName + " after h" + last); last = n }
	if (document.querySelectorAll("h1").length != 1) bad.push("not one h1")
	for (const t of document.querySelectorAll("table")) if (!t.caption) bad.push("a table without a caption")
	for (const s of document.querySelectorAll("svg")) if (!s.getAttribute("aria-label")) bad.push("a picture without words")
	if (!document.documentElement.lang) bad.push("no language")
	for (const e of document.querySelectorAll(".tiles b")) if (e.scrollWidth > e.clientWidth) bad.push("too wide: " + e.innerText)
	for (const e of document.querySelectorAll("h1,h2,h3,th[scope=col],dt,figcaption,caption,.tiles li")) for (const t of e.childNodes) if (t.nodeType == 3) for (const m of t.data.matchAll(/[^\s-]+/g)) {
		const r = document.createRange()
		r.setStart(t, m.index)
		r.setEnd(t, m.index + m[0].length)
		if (new Set([...r.getClientRects()].map(c => Math.round(c.top))).size > 1) bad.push("broken: " + m[0])
	}
	return bad.join(", ")
})()`
