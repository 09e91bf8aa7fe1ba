//go:build e2e

package report

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/plain"
)

// TestBrowser opens the page in Chromium, with the width of a phone and of a screen, in light and
// dark mode. Nothing overflows, no request is made, and no error is logged. POLEX_TEST_SCREENSHOTS
// is a folder for screenshots.
func TestBrowser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.html")
	if err := os.WriteFile(path, []byte(written(t, "html", large(120))), 0o600); err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	for _, width := range []int{400, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d %s", width, scheme), func(t *testing.T) {
				b.noise = nil
				b.call("Emulation.setDeviceMetricsOverride", object{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
				b.call("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": scheme}}})
				b.open("file://" + path)
				if got := b.evaluate(`document.title + "|" + document.querySelectorAll("tbody[id]").length + "|" + document.querySelectorAll("svg").length`); got != "Exceptions as of 2026-11-22|120|8" {
					t.Errorf("the page is %v", got)
				}
				if got := b.evaluate(`document.documentElement.scrollWidth`); got != float64(width) {
					t.Errorf("it is %v wide in a window of %d", got, width)
				}
				if got := b.evaluate(contrast); got != "" {
					t.Errorf("hard to read: %v", got)
				}
				if got := b.evaluate(headings); got != "" {
					t.Errorf("headings: %v", got)
				}
				for _, line := range b.noise {
					t.Error(line)
				}
				for i, part := range []string{"h1", "#current", "#removed", "#time", ".chains"} {
					b.keep(t, part, width, fmt.Sprintf("ledger-%d-%s-%d.png", width, scheme, i))
				}
			})
		}
	}
}

// TestPrint: the PDF from Chromium contains every ticket, digest, commit and log index of the page.
func TestPrint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.html")
	v := large(120)
	if err := os.WriteFile(path, []byte(written(t, "html", v)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	b.open("file://" + path)
	said, _ := b.evaluate(`document.body.innerText`).(string)
	data, _ := b.call("Page.printToPDF", object{"preferCSSPageSize": true})["data"].(string)
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(cmp.Or(os.Getenv("POLEX_TEST_SCREENSHOTS"), t.TempDir()), "ledger.pdf")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("pdftotext", "-raw", file, "-").Output()
	if err != nil {
		t.Fatalf("pdftotext (apt-get install poppler-utils): %v", err)
	}
	dense := func(text string) string { return strings.Join(strings.Fields(text), "") }
	printed, shown := dense(string(text)), dense(said)
	wanted := []string{v.Tip, v.Repository, v.Trust.Digest, v.Trust.Root, v.Trust.Signers[0].Identity, "2026-11-22T13:00:00Z"}
	for _, e := range v.Entries {
		wanted = append(wanted, e.Identity.Name, e.Said.Ticket, e.Said.Reason, e.Exempted[0].Names[0], sealOf(e).MessageDigest, clock(e.ExpiresAt), e.Request.Commit)
		for _, s := range sealOf(e).Signatures {
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
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	defer server.Close()
	path := filepath.Join(t.TempDir(), "bad.html")
	page := `<!doctype html><title>bad</title><img src="` + server.URL + `/x"><p style="color:#ddd;background:#fff">pale</p><h3 style="width:1px;overflow-wrap:anywhere">xyz</h3><div style="width:3000px">wide</div>`
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	b.call("Emulation.setDeviceMetricsOverride", object{"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": false})
	b.open("file://" + path)
	if asked.Load() == 0 || !strings.Contains(strings.Join(b.noise, "\n"), server.URL) {
		t.Errorf("a request is not noticed: %q", b.noise)
	}
	if b.evaluate(contrast) == "" || b.evaluate(headings) != "H3 after h0, not one h1, no language, broken: xyz" || b.evaluate(`document.documentElement.scrollWidth`) == float64(390) {
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
	for (const e of document.querySelectorAll("h1,h2,h3,th[scope=col],dt,figcaption,caption,.tiles li")) for (const t of e.childNodes) if (t.nodeType == 3) for (const m of t.data.matchAll(/[^\s-]+/g)) {
		const r = document.createRange()
		r.setStart(t, m.index)
		r.setEnd(t, m.index + m[0].length)
		if (new Set([...r.getClientRects()].map(c => Math.round(c.top))).size > 1) bad.push("broken: " + m[0])
	}
	return bad.join(", ")
})()`

// browser is a Chromium controlled by the DevTools protocol over pipes.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	session string
	id      int
	loaded  bool
	noise   []string // requests, errors and violations of the page's policy
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	name := ""
	for _, candidate := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(candidate); err == nil {
			name = path
			break
		}
	}
	if name == "" {
		t.Fatal("this test needs Chromium on the path (apt-get install chromium), or Chrome")
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	t.Cleanup(func() {
		b.call("Browser.close", nil)
		cmd.Wait() //nolint:errcheck // it was told to end
		in.Close()
		out.Close()
	})
	// A browser that hangs is killed, and then the test fails.
	timer := time.AfterFunc(3*time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	target := b.call("Target.createTarget", object{"url": "about:blank"})
	attached := b.call("Target.attachToTarget", object{"targetId": target["targetId"], "flatten": true})
	b.session, _ = attached["sessionId"].(string)
	for _, domain := range []string{"Page", "Network", "Log", "Runtime", "Audits"} {
		b.call(domain+".enable", nil)
	}
	return b
}

// call sends a command to the browser, and records events until the answer.
func (b *browser) call(method string, params object) object {
	b.t.Helper()
	b.id++
	message := object{"id": b.id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" && method != "Browser.close" {
		message["sessionId"] = b.session
	}
	raw, err := json.Marshal(message)
	if err == nil {
		_, err = b.in.Write(append(raw, 0))
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		answer := b.read()
		if id, ok := answer["id"].(float64); ok && int(id) == b.id {
			if answer["error"] != nil {
				b.t.Fatalf("%s: %v", method, answer["error"])
			}
			result, _ := answer["result"].(map[string]any)
			return result
		}
		b.event(answer)
	}
}

func (b *browser) read() object {
	b.t.Helper()
	raw, err := b.out.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser is gone: %v", err)
	}
	var message object
	if err := json.Unmarshal(raw[:len(raw)-1], &message); err != nil {
		b.t.Fatal(err)
	}
	return message
}

func (b *browser) event(message object) {
	params, _ := message["params"].(map[string]any)
	switch message["method"] {
	case "Page.loadEventFired":
		b.loaded = true
	case "Network.requestWillBeSent":
		request, _ := params["request"].(map[string]any)
		if url, _ := request["url"].(string); !strings.HasPrefix(url, "file:///") && url != "about:blank" {
			b.noise = append(b.noise, "it asks for "+url)
		}
	case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Audits.issueAdded":
		raw, _ := json.Marshal(params)
		b.noise = append(b.noise, fmt.Sprintf("%s: %.500s", message["method"], raw))
	}
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.loaded = false
	b.call("Page.navigate", object{"url": url})
	for !b.loaded {
		b.event(b.read())
	}
}

// evaluate runs a script in the page. The policy of the page forbids scripts of its own.
func (b *browser) evaluate(script string) any {
	b.t.Helper()
	answer := b.call("Runtime.evaluate", object{"expression": script, "returnByValue": true})
	if answer["exceptionDetails"] != nil {
		b.t.Fatalf("%v", answer["exceptionDetails"])
	}
	result, _ := answer["result"].(map[string]any)
	return result["value"]
}

// keep makes a screenshot that begins at an element, and stores it if a folder is set.
func (b *browser) keep(t *testing.T, from string, width int, name string) {
	t.Helper()
	dir := os.Getenv("POLEX_TEST_SCREENSHOTS")
	top := b.evaluate(`document.querySelector("` + from + `").getBoundingClientRect().top + scrollY - 10`)
	picture := b.call("Page.captureScreenshot", object{"captureBeyondViewport": true, "clip": object{"x": 0, "y": top, "width": width, "height": 1500, "scale": 1}})
	data, _ := picture["data"].(string)
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		t.Fatalf("no picture: %v", err)
	}
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
		t.Fatal(err)
	}
}
