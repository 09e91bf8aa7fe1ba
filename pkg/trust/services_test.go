package trust_test

import (
	"testing"

	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/test/expect"
)

// TestHoldings: every service of the public-good root is listed once and in order.
func TestHoldings(t *testing.T) {
	root := expect.Value(trust.PublicGoodRoot())(t)
	want := map[string]int{
		trust.ServiceCertificateAuthority: len(root.Material().FulcioCertificateAuthorities()), trust.ServiceCertificateLog: len(root.Material().CTLogs()),
		trust.ServiceTransparencyLog: len(root.Material().RekorLogs()), trust.ServiceTimestampAuthority: len(root.Material().TimestampingAuthorities()),
	}
	got, ids := map[string]int{}, map[string]bool{}
	var last trust.Service
	for _, h := range root.Services() {
		if h.Kind < last.Kind || (h.Kind == last.Kind && h.From.Before(last.From)) {
			t.Errorf("%+v comes after %+v", h, last)
		}
		if h.URL == "" || len(h.ID) != 64 || h.From.IsZero() || ids[h.Kind+h.ID] {
			t.Errorf("%+v", h)
		}
		got[h.Kind]++
		ids[h.Kind+h.ID] = true
		last = h
	}
	for kind, n := range want {
		if n == 0 || got[kind] != n {
			t.Errorf("%d of the kind %s, want %d", got[kind], kind, n)
		}
	}
}
