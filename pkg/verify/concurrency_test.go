package verify_test

import (
	"sync"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// TestManyGoroutines uses one Verifier from 64 goroutines, also for shared documents. Run it with
// go test -race.
func TestManyGoroutines(t *testing.T) {
	w := inWorld(t)
	key := newKey(t)
	v := w.verifier(t, func(c *trust.Config) {
		c.Authorities = append(c.Authorities, trust.AuthorityConfig{Name: "ci", Key: string(signerPEM(t, key, nil))},
			trust.AuthorityConfig{Name: "people", Issuer: w.IssuerURL, SubjectRegexp: `\w+@acme\.example`})
	}, nil)
	cases := []struct {
		doc  *exception.Document
		want string
	}{
		{w.honest, ""},
		{forged(set{}, person("anna@acme.example"))(t, w), ""},
		{stated(0, set{key: key, keyed: true})(t, w), ""},
		{forged(set{keyed: true})(t, w), verify.ReasonUnknownKey},
		{forged(set{}, set{signature: []byte("x")})(t, w), verify.ReasonBadSignature},
		{selfSigned(nil)(t, w), verify.ReasonUntrustedCertificate},
		{onlyOld(func(*seal.RekorBundle) {})(t, w), ""},
		{changed(change{at: []any{"metadata"}, key: "name", value: "x"}.apply)(t, w), verify.ReasonAltered},
	}
	var together, done sync.WaitGroup
	together.Add(1)
	for i := range 64 {
		done.Go(func() {
			together.Wait()
			for j := range 2 * len(cases) {
				tc := cases[(i+j)%len(cases)]
				verified, err := v.Verify(tc.doc, w.now)
				answers(t, verified, err, tc.want)
			}
		})
	}
	together.Done()
	done.Wait()
}
