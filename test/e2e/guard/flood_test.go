//go:build e2e

package guard

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// TestFlood: hundreds of connections and streams send endless bodies. Valid exceptions are still
// stored, others rejected, deletions succeed, and an expired exception is deleted.
func TestFlood(t *testing.T) {
	for name, send := range map[string]func(ctx context.Context, address string, begun chan<- struct{}, ends *sync.WaitGroup){
		"streams": func(ctx context.Context, address string, begun chan<- struct{}, ends *sync.WaitGroup) {
			for range 2 {
				transport := &http.Transport{ForceAttemptHTTP2: true, MaxConnsPerHost: 1, TLSClientConfig: unverified()}
				for range 240 {
					ends.Go(func() { streams(ctx, transport, "https://"+address+"/admit", begun) })
				}
			}
		},
		"connections": func(ctx context.Context, address string, begun chan<- struct{}, ends *sync.WaitGroup) {
			for range 600 {
				ends.Go(func() { connects(ctx, address, begun) })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := settings{}.run(t)
			i.register(t)
			target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
			texts := seal(t, draft{name: "ends", namespace: target.Namespace, lives: 15 * time.Second}.legacy("v2"),
				draft{name: "other", namespace: target.Namespace}.legacy("v2"), draft{name: "honest", namespace: target.Namespace}.legacy("v2"))
			create(t, target, texts[0]).want(t, http.StatusCreated)
			create(t, target, texts[1]).want(t, http.StatusCreated)
			begun := make(chan struct{}, atLeast)
			ctx, stop := context.WithCancel(t.Context())
			var ends sync.WaitGroup
			defer ends.Wait()
			defer stop()
			send(ctx, i.webhook, begun, &ends)
			for range atLeast {
				<-begun
			}
			began := time.Now()
			create(t, target, texts[2]).want(t, http.StatusCreated)
			t.Logf("a create took %s", time.Since(began).Round(time.Millisecond))
			create(t, target, widened(t, texts[2])).refusedFor(t, "altered")
			do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("other")}).want(t, http.StatusOK)
			gone(t, i, target, "ends", texts[0])
			if got := stored(t, target); len(got) != 1 || got[0] != "honest" {
				t.Errorf("there are %q", got)
			}
			t.Logf("the guard took %d MiB at most", i.peak(t)>>20)
		})
	}
}

// atLeast is the minimum number of endless bodies in transit before a test continues: those on two
// connections.
const atLeast = 128

// unverified does not check the server's certificate. A transport changes its configuration.
func unverified() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} // #nosec G402 -- a flood does not care
}

// streams sends endless bodies, one after the other, as HTTP/2 streams of a transport.
func streams(ctx context.Context, transport *http.Transport, url string, begun chan<- struct{}) {
	for ctx.Err() == nil {
		body, sender := io.Pipe()
		go func() {
			if _, err := sender.Write([]byte("{")); err == nil {
				told(begun)
			}
		}()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
		if err != nil {
			return
		}
		if answer, err := (&http.Client{Transport: transport}).Do(request); err == nil {
			_ = answer.Body.Close()
		}
		_ = body.Close()
	}
}

// connects sends endless bodies, one after the other, each on its own connection.
func connects(ctx context.Context, address string, begun chan<- struct{}) {
	for ctx.Err() == nil {
		conn, err := (&tls.Dialer{Config: unverified()}).DialContext(ctx, "tcp", address)
		if err != nil {
			continue
		}
		end := context.AfterFunc(ctx, func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, "POST /admit HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{"); err == nil {
			told(begun)
			_, _ = io.Copy(io.Discard, conn)
		}
		end()
		_ = conn.Close()
	}
}

// told signals that a body is in transit, if the test still waits for it.
func told(begun chan<- struct{}) {
	select {
	case begun <- struct{}{}:
	default:
	}
}

// TestNobodyAnswers: while the guard is stopped or hangs, exceptions and namespaces can be deleted,
// but not created or changed.
func TestNobodyAnswers(t *testing.T) {
	for name, away := range map[string]func(*instance) error{
		"it is gone": func(i *instance) error { i.group.Stop(); return nil },
		"it hangs":   func(i *instance) error { return i.group.Pause(Program) },
	} {
		t.Run(name, func(t *testing.T) {
			i := settings{}.run(t)
			i.register(t)
			ns := namespace(t)
			sealed := seal(t, draft{name: "next", namespace: ns}.legacy("v2"), draft{name: "next", namespace: ns}.policies("v1"))
			for _, target := range served {
				target.Namespace = ns
				create(t, target, seal(t, draft{name: "there-" + target.Version, namespace: ns}.in(target))[0]).want(t, http.StatusCreated)
			}
			if err := away(i); err != nil {
				t.Fatal(err)
			}
			for _, target := range served {
				target.Namespace = ns
				do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("there-" + target.Version)}).want(t, http.StatusOK)
			}
			for n, text := range sealed {
				target := []cluster.Target{served[0], served[2]}[n]
				target.Namespace = ns
				if answer := create(t, target, text); answer.OK() {
					t.Error("it is created, and nobody was asked")
				}
			}
			_ = i.group.Continue(Program) // so that it can stop
		})
	}
}

// TestClientCA: with --client-ca the guard answers reviews only for an API server with such a
// certificate. It answers other requests for everybody.
func TestClientCA(t *testing.T) {
	stranger := t.TempDir()
	certify(t, stranger)
	for name, tc := range map[string]struct {
		flags   []string
		refused bool
	}{
		"its authority":          {flags: []string{"--client-ca", live.ClientCA()}},
		"its authority and name": {flags: []string{"--client-ca", live.ClientCA(), "--client-name", cluster.WebhookClientName}},
		"its authority not name": {flags: []string{"--client-ca", live.ClientCA(), "--client-name", "somebody"}, refused: true},
		"another authority":      {flags: []string{"--client-ca", stranger + "/tls.crt"}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			i := settings{flags: tc.flags}.run(t)
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: unverified()}}
			for path, want := range map[string]int{"/admit": http.StatusUnauthorized, "/deleted": http.StatusUnauthorized, "/verify": http.StatusOK} {
				answer, err := client.Post("https://"+i.webhook+path, "application/json", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if answer.StatusCode != want {
					t.Errorf("%s without a certificate: %d, want %d", path, answer.StatusCode, want)
				}
			}
			target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
			text := seal(t, draft{name: "a", namespace: target.Namespace}.legacy("v2"))[0]
			if !tc.refused {
				i.register(t)
				create(t, target, text).want(t, http.StatusCreated)
				create(t, target, draft{name: "b", namespace: target.Namespace}.legacy("v2")).refusedFor(t, "unsigned")
				do(t, cluster.Request{Method: http.MethodDelete, Path: target.Path("a")}).want(t, http.StatusOK)
				i.until(t, "the deletion to be told", func(ctx context.Context) error {
					return i.measures(ctx, `polex_guard_decisions_total{authority="",operation="DELETE",reason="deleted"} 1`)
				})
				return
			}
			do(t, cluster.Request{Method: http.MethodPost, Path: webhooks, Body: []byte(i.registration("127.0.0.1"))}).want(t, http.StatusCreated)
			t.Cleanup(func() { unregister(t) })
			i.until(t, "the API server to be refused", func(ctx context.Context) error {
				answer, err := live.DryRun(ctx, target, []byte(text))
				if err == nil && (answer.OK() || !strings.Contains(answer.Message(), "provide credentials")) {
					err = fmt.Errorf("%d: %s", answer.Code, answer.Message())
				}
				return err
			})
		})
	}
}

// TestDeliveredClientCA: with the component, the guard gets the path of the mounted file.
func TestDeliveredClientCA(t *testing.T) {
	for _, overlay := range overlays {
		manifests := withComponent(t, overlay, "client-ca")
		apply(t, namespaceOf(t, manifests))
		spec := deployment(t, manifests).Spec.Template.Spec
		guard := spec.Containers[0]
		if at := mountOf(guard, "client-ca"); !at.ReadOnly || !slices.Contains(guard.Args, "--client-ca="+at.MountPath+"/ca.crt") {
			t.Errorf("%s: %v is mounted, and the arguments are %q", overlay, at, guard.Args)
		}
		text, err := json.Marshal(corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: "polex-guard-0", Namespace: guardNamespace},
			Spec:       spec,
		})
		if err != nil {
			t.Fatal(err)
		}
		mustKubectl(t, string(text), "create", "--dry-run=server", "--validate=strict", "-f", "-")
	}
}

// TestDocumentedClientCertificate: the API server of these tests gets its client certificate from
// the files in docs/reference/guard.md. Only the folder and the names of the webhooks differ.
func TestDocumentedClientCertificate(t *testing.T) {
	page, err := os.ReadFile(fixture.FromRoot("docs/reference/guard.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"admission.yaml", "webhooks.kubeconfig"} {
		block := regexp.MustCompile("(?s)```yaml\n# /etc/kubernetes/polex/" + name + "\n(.*?)```").FindSubmatch(page)
		if block == nil {
			t.Fatalf("docs/reference/guard.md does not show %s", name)
		}
		said := strings.NewReplacer("/etc/kubernetes/polex", folder+"/cluster", "polex-guard.polex-system.svc", `"*"`).Replace(string(block[1]))
		used, err := os.ReadFile(filepath.Join(folder, "cluster", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(objectsOf(t, said), objectsOf(t, string(used))); diff != "" {
			t.Errorf("%s: -docs +used:\n%s", name, diff)
		}
	}
}

// TestSilentConnections: silent connections beyond the guard's limit do not block valid requests.
func TestSilentConnections(t *testing.T) {
	i := settings{}.run(t)
	i.register(t)
	target := cluster.Target{Group: "kyverno.io", Version: "v2", Namespace: namespace(t)}
	const more = 700
	for range more {
		conn, err := net.Dial("tcp", i.webhook)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	create(t, target, seal(t, draft{name: "honest", namespace: target.Namespace}.legacy("v2"))[0]).want(t, http.StatusCreated)
}
