//go:build e2e

package guard

import (
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/attacks"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// replayGuard registers a guard in this process. It uses the handler that was stored last.
func replayGuard(t *testing.T) *atomic.Pointer[guard.Handler] {
	t.Helper()
	var handler atomic.Pointer[guard.Handler]
	var current guard.Current
	current.Replace(theSandbox(t))
	first, err := guard.NewHandler(guard.Config{Rules: &current, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	handler.Store(first)
	i := &instance{dir: t.TempDir(), group: &servers.Group{}}
	i.bundle = certify(t, i.dir)
	certificate, err := tls.LoadX509KeyPair(filepath.Join(i.dir, "tls.crt"), filepath.Join(i.dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.Load().ServeHTTP(w, r) }),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: waitLimit,
		ErrorLog:          log.New(t.Output(), "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	i.webhook = listener.Addr().String()
	i.alsoAsked = `  - {apiGroups: [""], apiVersions: ["*"], resources: [configmaps], operations: [CREATE], scope: "*"}` + "\n"
	i.register(t)
	return &handler
}

// theSandbox returns rules that trust the sandbox.
func theSandbox(t *testing.T) *guard.Rules {
	t.Helper()
	i := &instance{config: filepath.Join(t.TempDir(), "config.yaml")}
	i.configure(t, "")
	text, err := os.ReadFile(i.config)
	if err != nil {
		t.Fatal(err)
	}
	return rulesIn(t, text, filepath.Dir(i.config))
}

// rulesOf returns the rules of a case, and a verifier to check admitted documents.
func rulesOf(t *testing.T, c *attacks.Case) (*guard.Current, *verify.Verifier) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, attacks.RootFile), c.Root, 0o600); err != nil {
		t.Fatal(err)
	}
	var current guard.Current
	current.Replace(rulesIn(t, c.Policy, dir))
	policy, err := trust.Load(configIn(t, c.Policy, dir))
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := verify.New(policy)
	if err != nil {
		t.Fatal(err)
	}
	return &current, verifier
}

func configIn(t *testing.T, text []byte, dir string) trust.Config {
	t.Helper()
	doc, err := exception.Parse(text, attacks.PolicyFile)
	if err != nil {
		t.Fatal(err)
	}
	config, err := trust.Read(doc, dir)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func rulesIn(t *testing.T, text []byte, dir string) *guard.Rules {
	t.Helper()
	rules, err := guard.NewRules(configIn(t, text, dir), guard.Settings{}, "sha256:corpus")
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
