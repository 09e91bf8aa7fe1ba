//go:build e2e

package load

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestMemory sends 20,000 reviews directly to the guard, every other one of a forged exception. An
// API server would be slower. After that, the guard has the same memory, goroutines and open files
// as after the first reviews, apart from garbage. Every answer must be right. The few exceptions
// repeat, so the guard remembers their signatures; TestStored measures the cost of a create.
func TestMemory(t *testing.T) {
	warm, n := 2000, 20000
	if *long {
		n = 200000
	}
	g := startGuard(t)
	ask := asker(t, g)
	kinds := tasks(t, namespace(t, live, "asked"), 4*(len(forgeries)+len(misuses)))
	for i := range kinds {
		kinds[i].body = review(t, kinds[i])
	}
	var wrong atomic.Int64
	put := func(n int) {
		all := make([]task, 0, n)
		for i := range n {
			all = append(all, kinds[i%len(kinds)])
		}
		each(t, all, func(made task) {
			got, err := ask(made.body)
			expect.That(t, got == made.want || wrong.Add(1) > 20, "%s: %s, want %s: %v", made.name, got, made.want, err)
		})
	}
	put(warm)
	before := g.takes(t)
	began := cpu(t, g.PID("polex-guard"))
	put(n)
	after := g.takes(t)
	t.Logf("after %6d: %s", warm, before)
	t.Logf("after %6d: %s", warm+n, after)
	t.Logf("%s on a processor for each of %d", ((cpu(t, g.PID("polex-guard")) - began) / time.Duration(n)).Round(time.Microsecond), n)
	expect.That(t, wrong.Load() == 0, "%d answers of %d were wrong", wrong.Load(), warm+n)
	const garbage = 32 << 20 // the amount between two collections
	expect.That(t, after.heap <= 2*before.heap+garbage && after.resident <= 2*before.resident+garbage,
		"the memory grew")
	expect.That(t, after.goroutines <= before.goroutines+50 && after.files <= before.files+50,
		"what was begun did not end")
}

// taken has the resources of a process.
type taken struct {
	heap, resident    int64 // bytes
	goroutines, files int
}

func (u taken) String() string {
	return fmt.Sprintf("heap %.1f MB, resident %.1f MB, %d goroutines, %d files", float64(u.heap)/1e6, float64(u.resident)/1e6, u.goroutines, u.files)
}

func (g *standing) takes(t *testing.T) taken {
	t.Helper()
	pid := g.PID("polex-guard")
	return taken{
		heap: int64(g.metric(t, "go_memstats_heap_alloc_bytes")), resident: memory(t, pid, "VmRSS"),
		goroutines: int(g.metric(t, "go_goroutines")), files: files(t, pid),
	}
}

// metric returns a value of the guard's metrics.
func (g *standing) metric(t *testing.T, name string) float64 {
	t.Helper()
	for line := range strings.Lines(g.measured(t)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return number(t, value)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// sum adds the values of the guard's metrics that begin with a text and contain another.
func (g *standing) sum(t *testing.T, prefix, holds string) (sum float64) {
	t.Helper()
	for line := range strings.Lines(g.measured(t)) {
		if strings.HasPrefix(line, prefix) && strings.Contains(line, holds) {
			sum += number(t, line[strings.LastIndexByte(line, ' ')+1:])
		}
	}
	return sum
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	return must.Get(strconv.ParseFloat(strings.TrimSpace(text), 64))(t)
}

func (g *standing) measured(t *testing.T) string {
	t.Helper()
	return string(fetch(t, "http://"+g.Metrics+"/metrics"))
}

func fetch(t *testing.T, url string) []byte {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	answer := must.Get((&http.Client{Timeout: waitLimit}).Do(request))(t)
	defer answer.Body.Close()
	return must.Get(io.ReadAll(answer.Body))(t)
}

// review returns the API server's review of a new exception.
func review(t *testing.T, made task) []byte {
	t.Helper()
	doc := must.Get(exception.Parse(made.body, made.name))(t)
	request := &admissionv1.AdmissionRequest{UID: "5f0b", Operation: admissionv1.Create, Name: doc.Identity().Name, Namespace: doc.Identity().Namespace,
		Kind: metav1.GroupVersionKind{Group: made.target.Group, Version: made.target.Version, Kind: exception.Kind}}
	request.Object.Raw = made.body
	raw, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request})
	must.Do(t, err)
	return raw
}

// asker returns a function that sends reviews to a guard, and returns the reasons.
func asker(t *testing.T, g *standing) func(body []byte) (string, error) {
	t.Helper()
	roots := x509.NewCertPool()
	must.That(t, roots.AppendCertsFromPEM(g.bundle), "the guard has no certificate")
	client := &http.Client{Timeout: waitLimit, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: atOnce,
	}}
	t.Cleanup(client.CloseIdleConnections)
	return func(body []byte) (string, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+g.Webhook+"/admit?timeout=10s", bytes.NewReader(body))
		if err != nil {
			return "", err
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		var said admissionv1.AdmissionReview
		if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || said.Response == nil {
			return "", fmt.Errorf("%d: %w", answer.StatusCode, err)
		}
		reason := said.Response.AuditAnnotations["reason"]
		if said.Response.Allowed != (reason == verified) {
			return "", fmt.Errorf("it says %q, and %v", reason, said.Response.Allowed)
		}
		return reason, nil
	}
}
