package cluster_test

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/polex-dev/polex/internal/guard/cluster"
	"github.com/polex-dev/polex/test/expect"
)

// leases is an API server with one Lease.
type leases struct {
	mu     sync.Mutex
	lease  *coordinationv1.Lease
	state  int
	reads  int
	writes chan string // the holder of each accepted write of a guard
}

func (l *leases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fail := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason})
	}
	if r.Method == http.MethodGet {
		l.reads++
		if l.lease == nil {
			fail(http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(l.lease)
		return
	}
	var lease coordinationv1.Lease
	if err := json.NewDecoder(r.Body).Decode(&lease); err != nil {
		fail(http.StatusBadRequest, metav1.StatusReasonBadRequest)
		return
	}
	if l.lease != nil && lease.ResourceVersion != l.lease.ResourceVersion {
		fail(http.StatusConflict, metav1.StatusReasonConflict)
		return
	}
	if n := lease.Spec.LeaseTransitions; n != nil && *n < 0 {
		fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		return
	}
	l.put(&lease)
	l.writes <- holder(&lease)
	_ = json.NewEncoder(w).Encode(lease)
}

func (l *leases) put(lease *coordinationv1.Lease) {
	l.state++
	lease.ResourceVersion = strconv.Itoa(l.state)
	lease.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	l.lease = lease
}

func holder(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// lead runs Lead with one piece of work after the other, and returns the function that ends it.
func (l *leases) lead(t *testing.T, work func(context.Context)) (end func()) {
	t.Helper()
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- cluster.Lead(ctx, &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
			cluster.Lease{Namespace: "default", Name: "polex-guard", Identity: "me"}, work)
	}()
	return func() {
		t.Helper()
		cancel()
		err := <-ended
		expect.NoError(t, err)
	}
}

// TestLeaseOutlivesTheWork: the Lease is renewed until the work has returned, and released then.
// Otherwise another guard would work beside this one.
func TestLeaseOutlivesTheWork(t *testing.T) {
	l := &leases{writes: make(chan string, 100)}
	working, returned := make(chan struct{}), make(chan struct{})
	end := l.lead(t, func(ctx context.Context) {
		close(working)
		<-ctx.Done()
		for len(l.writes) > 0 { // those before the end
			<-l.writes
		}
		expect.Is(t, "Lease during the work", "me", <-l.writes)
		close(returned)
	})
	<-working
	end()
	<-returned
	expect.Is(t, "the Lease", "", holder(l.lease))
}

// TestLeaseOfAnother: work ends as soon as the Lease names another holder, and is not released.
func TestLeaseOfAnother(t *testing.T) {
	l := &leases{writes: make(chan string, 100)}
	reads := 0
	done := make(chan struct{})
	end := l.lead(t, func(ctx context.Context) {
		l.mu.Lock()
		other, before := l.lease.DeepCopy(), l.reads
		other.Spec.HolderIdentity = new(string)
		*other.Spec.HolderIdentity = "other"
		l.put(other)
		l.mu.Unlock()
		<-ctx.Done()
		l.mu.Lock()
		reads = l.reads - before
		l.mu.Unlock()
		close(done)
	})
	<-done
	end()
	expect.That(t, reads == 1, "the work ends after %d reads of the Lease", reads)
	expect.Is(t, "the Lease", "other", holder(l.lease))
}

// TestLeaseOfManyTransitions: a guard can take a Lease with the largest number of transitions.
func TestLeaseOfManyTransitions(t *testing.T) {
	l := &leases{writes: make(chan string, 100)}
	l.put(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "polex-guard"},
		Spec:       coordinationv1.LeaseSpec{LeaseTransitions: new(int32(math.MaxInt32))},
	})
	leads := make(chan struct{})
	end := l.lead(t, func(ctx context.Context) {
		close(leads)
		<-ctx.Done()
	})
	select {
	case <-leads:
	case <-time.After(10 * time.Second):
		t.Error("it does not lead")
	}
	end()
}
