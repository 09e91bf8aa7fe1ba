package verify_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
)

// unreachable is a network that tells the test on whoever uses it.
type unreachable struct{ t *testing.T }

func (u unreachable) RoundTrip(r *http.Request) (*http.Response, error) {
	u.t.Errorf("verifying asks for %s", r.URL)
	return nil, errors.New("there is no network here")
}

func (u unreachable) dial(_ context.Context, network, address string) (net.Conn, error) {
	u.t.Errorf("verifying looks up a name at %s %s", network, address)
	return nil, errors.New("there is no network here")
}

// TestNoNetwork verifies every case again without one. The documents, which
// take a Sigstore to make, are made before.
func TestNoNetwork(t *testing.T) {
	w := inWorld(t)
	cases := verdicts(w)
	docs := make([]*exception.Document, len(cases))
	for i, tc := range cases {
		docs[i] = tc.doc(t, w)
	}
	transport, resolver := http.DefaultTransport, net.DefaultResolver
	defer func() { http.DefaultTransport, net.DefaultResolver = transport, resolver }()
	nowhere := unreachable{t}
	http.DefaultTransport, net.DefaultResolver = nowhere, &net.Resolver{PreferGo: true, Dial: nowhere.dial}
	for i, tc := range cases {
		judge(t, w.verifier(t, tc.policy, tc.root), docs[i], w.now.Add(tc.after), tc.want)
	}
}
