package sign_test

import (
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
)

// everywhere runs a test of server faults with the sandbox. If POLEX_TEST_SIGSTORE names a file
// with a real Sigstore (one variable a line, as in test/cli), it runs it with that too. Proxies on
// loopback are between the signer and the servers.
func everywhere(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Run("sandbox", func(t *testing.T) { test(t, proxied(t, undisturbed.Sandbox)) })
	named := os.Getenv("POLEX_TEST_SIGSTORE")
	if named == "" {
		return
	}
	raw := expect.Value(os.ReadFile(named))(t)
	at := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		at[name] = value
	}
	real := &sandbox.Sandbox{Dir: at["POLEX_SANDBOX"], TrustedRootPath: at["ROOT"], FulcioURL: at["FULCIO"], RekorURL: at["REKOR"],
		RekorV2URL: at["REKOR_V2"], TimestampURL: at["TIMESTAMP"], IssuerURL: at["ISSUER"],
		TokenRequestURL: at["TOKEN_REQUEST_URL"], TokenRequestToken: at["TOKEN_REQUEST_TOKEN"]}
	t.Run("named", func(t *testing.T) { test(t, proxied(t, real)) })
}

// proxied puts a proxy in front of each server of a Sigstore.
func proxied(t *testing.T, s *sandbox.Sandbox) *fixture {
	t.Helper()
	f := &fixture{wire: &wire{}, rest: &rest{}}
	front := func(server, address string) string {
		target, err := url.Parse(address)
		if err != nil || target.Host == "" {
			t.Fatalf("the address %q of %s: %v", address, server, err)
		}
		path := strings.TrimPrefix(address, target.Scheme+"://"+target.Host)
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
		proxy.ErrorLog = log.New(io.Discard, "", 0) // tests close connections
		web := httptest.NewServer(f.wire.intercept(server, proxy))
		t.Cleanup(web.Close)
		return web.URL + path
	}
	f.Sandbox = &sandbox.Sandbox{Dir: s.Dir, TrustedRootPath: s.TrustedRootPath, IssuerURL: s.IssuerURL, TokenRequestToken: s.TokenRequestToken,
		FulcioURL: front(sandbox.ServerFulcio, s.FulcioURL), RekorURL: front(sandbox.ServerRekor, s.RekorURL),
		RekorV2URL: front(sandbox.ServerRekorV2, s.RekorV2URL), TimestampURL: front(sandbox.ServerTimestamp, s.TimestampURL),
		TokenRequestURL: front(sandbox.ServerIssuer, s.TokenRequestURL)}
	f.root = expect.Value(trust.LoadRoot(f.TrustedRootPath))(t)
	return f
}
