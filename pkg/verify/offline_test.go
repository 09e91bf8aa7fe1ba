package verify_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/polex-dev/polex/test/expect"
)

// unreachable is a network that fails the test when it is used.
type unreachable struct{ t *testing.T }

func (u unreachable) RoundTrip(r *http.Request) (*http.Response, error) {
	u.t.Errorf("verifying asks for %s", r.URL)
	return nil, errors.New("there is no network here")
}

func (u unreachable) dial(_ context.Context, network, address string) (net.Conn, error) {
	u.t.Errorf("verifying looks up a name at %s %s", network, address)
	return nil, errors.New("there is no network here")
}

// TestNoNetwork verifies the whole corpus without a network.
func TestNoNetwork(t *testing.T) {
	transport, resolver := http.DefaultTransport, net.DefaultResolver
	defer func() { http.DefaultTransport, net.DefaultResolver = transport, resolver }()
	nowhere := unreachable{t}
	http.DefaultTransport, net.DefaultResolver = nowhere, &net.Resolver{PreferGo: true, Dial: nowhere.dial}
	for _, c := range corpus(t) {
		expect.Equal(t, c.Name, c.Expect, judgeInput(verifierOf(t, c), c))
	}
}
