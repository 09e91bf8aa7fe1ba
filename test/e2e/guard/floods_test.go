//go:build e2e

package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// forgedDeletion is a review that only the API server should send.
func forgedDeletion(namespace, name string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"DELETE",`+
		`"kind":{"group":"kyverno.io","version":"v2","kind":"PolicyException"},"namespace":%q,"name":%q,"userInfo":{"username":"system:admin"}}}`, namespace, name)
}

// flood sends parallel forged reviews of deletions to a guard until end is called. end returns the
// number of answers.
func (i *instance) flood(t *testing.T, namespace string, atOnce int) (end func() int64) {
	t.Helper()
	client := &http.Client{Timeout: waitLimit, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: atOnce, // #nosec G402 -- who answers does not matter
	}}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var n atomic.Int64
	for range atOnce {
		all.Go(func() {
			for ctx.Err() == nil {
				body := forgedDeletion(namespace, fmt.Sprintf("never-was-%d", n.Add(1)))
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+i.webhook+"/admit", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				if answer, err := client.Do(request); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			}
		})
	}
	return func() int64 {
		cancel()
		all.Wait()
		client.CloseIdleConnections()
		return n.Load()
	}
}

// TestForgedDeletions: forged reviews make the guard write nothing about objects that never
// existed, and do not fill its memory. It still reports its real findings.
func TestForgedDeletions(t *testing.T) {
	i := settings{}.run(t)
	ns := namespace(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: ns}
	events := "/apis/events.k8s.io/v1/namespaces/" + ns + "/events"
	i.until(t, "the guard to lead", func(ctx context.Context) error { return i.measures(ctx, "polex_guard_leader 1") })
	end := i.flood(t, ns, 8)
	defer end()
	before := i.peak(t)
	create(t, target, draft{name: "unsigned", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	i.until(t, "the Event about what is there", func(ctx context.Context) error { return contains(ctx, events, `"reason":"Refused"`) })
	create(t, target, draft{name: "taken", namespace: ns}.legacy("v2")).want(t, http.StatusCreated)
	i.until(t, "the report", func(ctx context.Context) error {
		return reported(ctx, ns, []string{"taken unsigned fail", "unsigned unsigned fail"})
	})
	do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("taken")}).want(t, http.StatusOK)
	i.until(t, "the Event about what was deleted", func(ctx context.Context) error { return contains(ctx, events, `"reason":"Deleted"`) })
	n := end()
	after := i.peak(t)
	t.Logf("%d forged reviews: %d MiB at most before, %d MiB after", n, before>>20, after>>20)
	if body := string(do(t, cluster.Request{Method: http.MethodGet, Path: events}).Body); strings.Contains(body, "never-was") || strings.Contains(body, "system:admin") {
		t.Error("an Event tells of what never was")
	}
	if n < 1000 {
		t.Errorf("that was no flood: %d", n)
	}
	const most = 64 << 20
	if after > before+most {
		t.Errorf("the memory grew by %d MiB", (after-before)>>20)
	}
}
