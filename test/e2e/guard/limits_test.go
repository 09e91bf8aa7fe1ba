//go:build e2e

package guard

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/polex-dev/polex/internal/guard"
)

// staysWithinLimits: after all of its tasks and many of the largest reviews, the peak memory of the
// guard is below the Deployment's limit. The garbage collector's limit is lower still.
func (i *instance) staysWithinLimits(t *testing.T) {
	t.Helper()
	limit := i.limits.Limits.Memory()
	var soft resource.Quantity
	for _, v := range i.env {
		if text, found := strings.CutPrefix(v, "GOMEMLIMIT="); found {
			soft = resource.MustParse(strings.TrimSuffix(text, "B"))
		}
	}
	if soft.IsZero() || soft.Cmp(*limit) >= 0 {
		t.Errorf("memory is collected at %s, and the limit is %s", &soft, limit)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says what a process has used at most")
	}
	after := i.peak(t)
	for _, body := range largest() {
		i.post(t, 64, body)
	}
	flooded := i.peak(t)
	t.Logf("memory at most: %d MiB with its duties, %d MiB after the largest reviews, of %s", after>>20, flooded>>20, limit)
	if flooded >= limit.Value() {
		t.Errorf("it used %d bytes, and may use %d", flooded, limit.Value())
	}
	if err := get(t.Context(), "http://"+i.health+"/readyz"); err != nil {
		t.Error(err)
	}
}

// largest returns reviews of the maximum size that need much memory: an object of many small parts,
// and one with a long text.
func largest() [][]byte {
	const head = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"kyverno.io","version":"v2","kind":"PolicyException"},` +
		`"resource":{"group":"kyverno.io","version":"v2","resource":"policyexceptions"},"name":"a","namespace":"b","operation":"CREATE",` +
		`"object":{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{"name":"a","namespace":"b"},"spec":`
	var bodies [][]byte
	for _, shape := range []struct{ open, part, end string }{{"[", "{},", "{}]}}}"}, {"[", "[],", "[]]}}}"}, {`{"x":1,"a":"`, "x", `"}}}}`}} {
		most := guard.MaxReview - len(head) - len(shape.open) - len(shape.end)
		bodies = append(bodies, []byte(head+shape.open+strings.Repeat(shape.part, most/len(shape.part))+shape.end))
	}
	return bodies
}

// post sends a review many times in parallel. Each gets an answer.
func (i *instance) post(t *testing.T, times int, body []byte) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	var sending sync.WaitGroup
	for range times {
		sending.Go(func() {
			answer, err := client.Post("https://"+i.webhook+"/admit", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+([0-9]+) kB$`)

// peak returns the peak memory of the process, in bytes.
func (i *instance) peak(t *testing.T) int64 {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		raw, err := os.ReadFile(line)
		if err != nil || !bytes.HasPrefix(raw, []byte(folder+"/polex-guard\x00")) || !bytes.Contains(raw, []byte(i.webhook)) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(line), "status"))
		if err != nil {
			t.Fatal(err)
		}
		if found := highWater.FindSubmatch(status); found != nil {
			kib, err := strconv.ParseInt(string(found[1]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("there is no process that answers at %s", i.webhook)
	return 0
}
