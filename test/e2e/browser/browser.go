// Package browser drives Chromium in tests.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Object is an object of JSON.
type Object = map[string]any

// Browser is a Chromium controlled by the DevTools protocol over pipes.
type Browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	session string
	id      int
	loaded  bool

	Own   string   // the prefix of the addresses that a page may load
	Noise []string // other requests, errors and violations of the page's policy
}

// Start starts a Chromium that stops at the end of the test.
func Start(t *testing.T) *Browser {
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
	b := &Browser{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20), Own: "file:///"}
	t.Cleanup(func() {
		b.Call("Browser.close", nil)
		cmd.Wait() //nolint:errcheck // it was told to end
		in.Close()
		out.Close()
	})
	// A browser that hangs is killed, and then the test fails.
	timer := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	target := b.Call("Target.createTarget", Object{"url": "about:blank"})
	attached := b.Call("Target.attachToTarget", Object{"targetId": target["targetId"], "flatten": true})
	b.session, _ = attached["sessionId"].(string)
	for _, domain := range []string{"Page", "Network", "Log", "Runtime", "Audits"} {
		b.Call(domain+".enable", nil)
	}
	return b
}

// Call sends a command to the browser, and records events until the answer.
func (b *Browser) Call(method string, params Object) Object {
	b.t.Helper()
	b.id++
	message := Object{"id": b.id, "method": method}
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

func (b *Browser) read() Object {
	b.t.Helper()
	raw, err := b.out.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser is gone: %v", err)
	}
	var message Object
	if err := json.Unmarshal(raw[:len(raw)-1], &message); err != nil {
		b.t.Fatal(err)
	}
	return message
}

func (b *Browser) event(message Object) {
	params, _ := message["params"].(map[string]any)
	switch message["method"] {
	case "Page.loadEventFired":
		b.loaded = true
	case "Network.requestWillBeSent":
		request, _ := params["request"].(map[string]any)
		if url, _ := request["url"].(string); !strings.HasPrefix(url, b.Own) && !strings.HasPrefix(url, "data:") && url != "about:blank" {
			b.Noise = append(b.Noise, "it asks for "+url)
		}
	case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Audits.issueAdded":
		raw, _ := json.Marshal(params)
		b.Noise = append(b.Noise, fmt.Sprintf("%s: %.500s", message["method"], raw))
	}
}

// Open loads a page.
func (b *Browser) Open(url string) {
	b.t.Helper()
	b.loaded = false
	b.Call("Page.navigate", Object{"url": url})
	for !b.loaded {
		b.event(b.read())
	}
}

// Evaluate runs a script in the page, and waits for a promise. The policy of the page may
// forbid scripts of its own.
func (b *Browser) Evaluate(script string) any {
	b.t.Helper()
	answer := b.Call("Runtime.evaluate", Object{"expression": script, "returnByValue": true, "awaitPromise": true})
	if answer["exceptionDetails"] != nil {
		b.t.Fatalf("%v", answer["exceptionDetails"])
	}
	result, _ := answer["result"].(map[string]any)
	return result["value"]
}

// Keep makes a screenshot that begins at an element, and stores it if a folder is set.
func (b *Browser) Keep(t *testing.T, from string, width int, name string) {
	t.Helper()
	dir := os.Getenv("POLEX_TEST_SCREENSHOTS")
	top := b.Evaluate(`document.querySelector("` + from + `").getBoundingClientRect().top + scrollY - 10`)
	picture := b.Call("Page.captureScreenshot", Object{"captureBeyondViewport": true, "clip": Object{"x": 0, "y": top, "width": width, "height": 1500, "scale": 1}})
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
