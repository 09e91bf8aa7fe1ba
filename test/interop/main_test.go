package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/must"
)

// world is the only Sigstore of this process. The peer reads Fulcio's roots from the environment
// once and keeps them, so everything is set before the first test.
var world struct {
	*sandbox.Sandbox
	root *trust.Root
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(world.Dir)
	defer world.Close()
	return m.Run()
}

// digest is the digest of an artifact in an upload to Rekor, or in a search of its index.
var digest = regexp.MustCompile(`"(?:value|hash)":"(?:sha256:)?([0-9a-f]{64})"`)

// indexed adds the index of Rekor, which the peer searches for an artifact directly after its upload.
func indexed(server string, next http.Handler) http.Handler {
	if server != sandbox.ServerRekor {
		return next
	}
	var mu sync.Mutex
	index := map[string][]string{} // IDs by digest, oldest first
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		of := ""
		if found := digest.FindSubmatch(body); found != nil {
			of = string(found[1])
		}
		if r.URL.Path == "/api/v1/index/retrieve" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(append([]string{}, index[of]...))
			return
		}
		next.ServeHTTP(w, r)
		if id := w.Header().Get("ETag"); id != "" {
			index[of] = append(index[of], id)
		}
	})
}

func setUp() error {
	dir, err := os.MkdirTemp("", "polex-interop-")
	if err != nil {
		return err
	}
	options := sandbox.Options{Dir: dir, Intercept: indexed}
	if world.Sandbox, err = sandbox.Start(context.Background(), options); err != nil {
		return err
	}
	if world.root, err = trust.LoadRoot(world.TrustedRootPath); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"SIGSTORE_ROOT_FILE":              world.FulcioChainPath,
		"SIGSTORE_REKOR_PUBLIC_KEY":       world.RekorKeyPath,
		"SIGSTORE_CT_LOG_PUBLIC_KEY_FILE": world.CTLogKeyPath,
		"ACTIONS_ID_TOKEN_REQUEST_URL":    world.TokenRequestURL,
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN":  world.TokenRequestToken,
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	target, err := url.Parse(world.FulcioURL)
	if err != nil {
		return err
	}
	detour("fulcio.sigstore.dev:443", target.Host)
	return nil
}

// detour redirects connections for one address to another one, without TLS. The peer's Fulcio
// address is a constant, and its client uses http.DefaultTransport, which cosign expects to be an
// *http.Transport. Tests must not connect to other hosts than loopback.
func detour(from, to string) {
	var dialer net.Dialer
	transport := http.DefaultTransport.(*http.Transport)
	transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != from {
			return nil, fmt.Errorf("a test connects to %s", address)
		}
		return dialer.DialContext(ctx, network, to)
	}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err != nil || host != "127.0.0.1" {
			return nil, fmt.Errorf("a test connects to %s", address)
		}
		return dialer.DialContext(ctx, network, address)
	}
}

func signer(tb testing.TB) *sign.Signer {
	tb.Helper()
	return must.Get(sandboxtest.Signer(tb.Context(), world.Sandbox, sandbox.Identity{}))(tb)
}

func subject() string { return sandbox.Identity{}.Subject() }

// workflow is the authority for the sandbox's tokens.
func workflow() trust.AuthorityConfig {
	return trust.AuthorityConfig{Name: "workflow", Issuer: world.IssuerURL, Subject: subject()}
}

func policyFor(tb testing.TB, authority trust.AuthorityConfig) *trust.Policy {
	tb.Helper()
	return must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{authority}}, world.root))(tb)
}

func verifier(tb testing.TB, authority trust.AuthorityConfig) *verify.Verifier {
	tb.Helper()
	return must.Get(verify.New(policyFor(tb, authority)))(tb)
}
