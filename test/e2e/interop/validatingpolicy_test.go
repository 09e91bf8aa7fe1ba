//go:build e2e

package interop

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/guard"
)

// TestValidatingPolicy: the delivered Kyverno policy that calls the guard admits exceptions from
// polex-sign in every version. It rejects all others with the guard's reason, and everything while
// the guard does not answer.
func TestValidatingPolicy(t *testing.T) {
	dir := t.TempDir()
	bundle, err := guard.Certify(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Kyverno's policies may not call loopback by default, where this guard runs.
	live := startKyverno(t, "SSL_CERT_DIR="+dir, "FLAG_HTTP_BLOCKLIST=169.254.0.0/16")
	asked := startGuard(t, live, dir)
	policy := delivered(t, "verify/validatingpolicy.yaml", "https://polex-guard.polex-system.svc/verify", "https://"+asked.Webhook+"/verify")
	post(t, live, validatingPolicies, policy)
	first := served[0]
	first.Namespace = "team-a"
	honest := read(t, sealed(t, theReal(), write(t, "honest.yaml", draftIn(t, first, "honest"))))
	dryRun := func(name, why string) attempt {
		return attempt{name, func(ctx context.Context) (*cluster.Answer, error) { return live.DryRun(ctx, first, []byte(honest)) }, why}
	}
	creates(live, "the policy to count", first, draftIn(t, first, "probe"), "Policy polex-verify failed: [unsigned]").until(t, live)
	dryRun("signed", "").try(t)
	for _, target := range served {
		target.Namespace = "team-a"
		t.Run(target.Group+"-"+target.Version, func(t *testing.T) { guardDecides(t, live, target) })
	}
	t.Run("exempted", func(t *testing.T) { exempts(t, live, policy, guard.Registration(asked.Webhook, bundle)) })

	asked.Stop()
	dryRun("no guard", "connection refused").try(t)
	stands(t, asked.Webhook, dir, func(t *testing.T, name, why string) { t.Helper(); dryRun(name, why).try(t) })
}

// startGuard runs a guard with the certificate of a folder. It trusts the real Sigstore, and has no
// webhook yet.
func startGuard(t *testing.T, live *cluster.Cluster, dir string) *guard.Process {
	t.Helper()
	config := filepath.Join(dir, "config.yaml")
	text := strings.Replace(read(t, theReal().config), "trustedRoot: "+filepath.Base(real.TrustedRootPath), "trustedRoot: "+real.TrustedRootPath, 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := guard.Start(context.Background(), guard.Options{Binaries: commands.Binaries, Dir: dir, Config: config, Kubeconfig: live.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(g.Logs())
		}
		g.Stop()
	})
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if err := g.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return g
}

func guardDecides(t *testing.T, live *cluster.Cluster, target cluster.Target) {
	older := read(t, sealed(t, theReal(), write(t, "agent.yaml", draftIn(t, target, "agent"))))
	all := sealedAs(t, sandbox.Identity{}, strings.Replace(draftIn(t, target, "self"), "disallow-host-path", "polex-verify", 1),
		strings.Replace(draftIn(t, target, "short"), "7d", "2s", 1))
	self, short := all[0], all[1]
	untilEnded(t, short) // and the log is in another second
	good := read(t, sealed(t, theReal(), write(t, "agent.yaml", draftIn(t, target, "agent"))))
	patch := func(text string) func(context.Context) (*cluster.Answer, error) {
		return func(ctx context.Context) (*cluster.Answer, error) {
			return live.Do(ctx, cluster.Request{Method: http.MethodPatch, Path: target.Path("agent"), ContentType: "application/merge-patch+json", Body: []byte(text)})
		}
	}
	put := func(text string) func(context.Context) (*cluster.Answer, error) {
		return func(ctx context.Context) (*cluster.Answer, error) {
			return live.Do(ctx, cluster.Request{Method: http.MethodPatch, Path: target.Path("agent") + "?fieldManager=e2e&force=true", ContentType: "application/apply-patch+yaml", Body: []byte(text)})
		}
	}
	for _, a := range []attempt{
		creates(live, "not signed", target, draftIn(t, target, "agent"), "[unsigned]"),
		creates(live, "a name widened", target, strings.Replace(good, "agent-", "a", 1), "[altered]"),
		creates(live, "another name", target, strings.Replace(good, "name: agent\n", "name: other\n", 1), "[altered]"),
		creates(live, "signed on another branch", target, sealedAs(t, sandbox.Identity{Ref: "refs/heads/dev"}, draftIn(t, target, "agent"))[0], "[wrong-identity]"),
		creates(live, "exempts what guards it", target, self, "[reaches-guard]"),
		creates(live, "ended", target, short, "[expired]"),
		creates(live, "in another namespace", cluster.Target{Group: target.Group, Version: target.Version, Namespace: "team-b"},
			strings.Replace(good, "namespace: team-a\n", "namespace: team-b\n", 1), "[altered]"),
		creates(live, "a name that the API server makes", target, strings.Replace(good, "name: agent\n", "generateName: agent-\n", 1), "[altered]"),
		{"not signed, in a dry run", func(ctx context.Context) (*cluster.Answer, error) {
			return live.DryRun(ctx, target, []byte(draftIn(t, target, "agent")))
		}, "[unsigned]"},
		creates(live, "signed", target, good, ""),
		{"with what Flux and Argo CD add", patch(added), ""},
		{"a label", patch(`{"metadata":{"labels":{"a":"b"}}}`), "[altered]"},
		{"replaced by an older one", put(older), "[rollback]"},
		{"applied again", put(good), ""},
	} {
		a.try(t)
	}
	remove(t, live, target.Path("agent"))
}

// exempts: an earlier exception to the policy disables the policy, but not the guard, which is
// independent of Kyverno.
func exempts(t *testing.T, live *cluster.Cluster, policy []byte, registration string) {
	target := cluster.Target{Group: "policies.kyverno.io", Version: "v1", Namespace: "team-a"}
	dryRun := func(name, why string) attempt {
		return attempt{name + ": " + why, func(ctx context.Context) (*cluster.Answer, error) {
			return live.DryRun(ctx, target, []byte(draftIn(t, target, name)))
		}, why}
	}
	hole := strings.NewReplacer("disallow-host-path", "polex-verify",
		`object.metadata.name.startsWith("agent-") && object.metadata.namespace == 'team-a'`, "object.metadata.name == 'exempted'").Replace(draftIn(t, target, "hole"))
	remove(t, live, validatingPolicies+"/polex-verify")
	creates(live, "an exception to no policy", target, hole, "").until(t, live)
	post(t, live, validatingPolicies, policy)
	dryRun("another", "Policy polex-verify failed: [unsigned]").until(t, live)
	dryRun("exempted", "").until(t, live)

	post(t, live, guard.Webhooks, []byte(registration))
	dryRun("exempted", `admission webhook "guard.polex.dev" denied the request: [unsigned]`).until(t, live)
	remove(t, live, guard.Webhooks+"/polex-guard")
	remove(t, live, target.Path("hole"))
	dryRun("exempted", "Policy polex-verify failed: [unsigned]").until(t, live)
}

// stands runs another server at the guard's address, with its certificate.
func stands(t *testing.T, address, dir string, dryRun func(t *testing.T, name, why string)) {
	var status int
	var body string
	certificates := map[string]tls.Certificate{"the guard's": certificateIn(t, dir), "another's": certificateIn(t, certified(t))}
	whose := "the guard's"
	var never chan struct{} // closed to let it answer; nil if it answers at once
	other := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if never != nil {
			<-never
		}
		w.Header().Set("Connection", "close")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	other.Listener.Close()
	var err error
	if other.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address); err != nil {
		t.Fatal(err)
	}
	other.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificates[whose]}}, nil
	}}
	other.StartTLS()
	defer other.Close()
	const refused = "polex-guard gave no answer [undecided]"
	for _, tc := range []struct {
		status    int
		body, why string
	}{
		{200, `{"allowed":true,"reason":"verified"}`, ""}, // would be accepted
		{500, `{"allowed":true}`, refused},
		{200, `{"allowed":"true"}`, refused},
		{200, `{"allowed":1}`, refused},
		{200, `{"allowed":null}`, refused},
		{200, `{"Allowed":true}`, refused},
		{200, `{}`, refused},
		{200, ``, refused},
		{200, `true`, refused},
		{200, `[{"allowed":true}]`, refused},
		{200, `<html>`, refused},
		{404, `404 page not found`, refused},
		{200, `{"allowed":false,"message":"[x] not this one"}`, "[x] not this one"},
	} {
		status, body = tc.status, tc.body
		dryRun(t, fmt.Sprintf("%d %s", status, body), tc.why)
	}
	status, body, whose = 200, `{"allowed":true}`, "another's"
	dryRun(t, "somebody else's certificate", "certificate")
	whose, never = "the guard's", make(chan struct{})
	defer close(never)
	dryRun(t, "no answer", "failed calling webhook")
}

// certified returns a folder with a new certificate.
func certified(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := guard.Certify(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func certificateIn(t *testing.T, dir string) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}
