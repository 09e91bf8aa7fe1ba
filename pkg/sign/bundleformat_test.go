package sign_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/test/expect"
)

// Each format alone is sufficient for verification, and no other is written.
func TestBundleFormats(t *testing.T) {
	f := shared(t)
	cosign := []string{"certificate-chain", "sct", "signed-entry-timestamp"}
	sigstore := append(append([]string{}, cosign...), "inclusion-proof")
	v2 := []string{"certificate-chain", "sct", "timestamp", "inclusion-proof"}
	for _, tc := range []struct {
		config   sign.Config
		format   sign.BundleFormat
		old, v03 bool
		checked  []string
	}{
		{f.config(), "", true, true, sigstore},
		{f.config(), sign.BundleBoth, true, true, sigstore},
		{f.config(), sign.BundleCosign, true, false, cosign},
		{f.config(), sign.BundleSigstore, false, true, sigstore},
		{f.configV2(), sign.BundleBoth, false, true, v2},
		{f.configV2(), sign.BundleSigstore, false, true, v2},
	} {
		t.Run(fmt.Sprintf("%s of version %d", tc.format, max(tc.config.RekorVersion, 1)), func(t *testing.T) {
			config := tc.config
			config.BundleFormat = tc.format
			sealed := expect.Value(f.keyless(t, config).Seal(t.Context(), batch(t, 1), time.Now()))(t)
			s := expect.Value(seal.Read(sealed[0]))(t)
			if old, v03 := s.Signatures[0].Bundle != nil, s.Signatures[0].BundleV03 != nil; old != tc.old || v03 != tc.v03 {
				t.Errorf("cosign's bundle %t, Sigstore's %t; want %t and %t", old, v03, tc.old, tc.v03)
			}
			expect.Equal(t, "evidence", tc.checked, mustVerify(t, f.policy(t), sealed)[0].Signatures()[0].Checked)
		})
	}
}
