package sign_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
)

// visitor is a person who reads the prompt and opens the page in it.
type visitor struct {
	t    *testing.T
	read strings.Builder
}

var page = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S*user_code=\S+`)

func (v *visitor) Write(p []byte) (int, error) {
	v.read.Write(p)
	if address := page.FindString(string(p)); address != "" {
		resp, err := http.Get(address) //nolint:noctx,forbidigo // a person's browser
		if err != nil {
			v.t.Error(err)
			return len(p), nil
		}
		defer resp.Body.Close() //nolint:errcheck // only read
		if resp.StatusCode != http.StatusOK {
			v.t.Errorf("%s: %s", address, resp.Status)
		}
	}
	return len(p), nil
}

func TestDeviceFlow(t *testing.T) {
	people := expect.Value(sandboxtest.StartPeople())(t)
	t.Cleanup(func() { _ = people.Close() })
	person := &visitor{t: t}
	token := expect.Value(sign.InteractiveToken(
		t.Context(), sign.Flow{Issuer: people.URL, Device: true, Out: person}))(t)
	expect.Contains(t, person.read.String(), "Enter the verification code")
	if strings.Count(token, ".") != 2 {
		t.Errorf("%q is no token", token)
	}
}

func TestInteractiveTokenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	released := make(chan struct{})
	issuer := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel() // the person gives up while the issuer does not answer
		<-released
	}))
	defer issuer.Close()
	defer close(released)
	_, err := sign.InteractiveToken(ctx, sign.Flow{Issuer: issuer.URL, Device: true, Out: &visitor{t: t}})
	expect.Cause(t, err, context.Canceled)
}
