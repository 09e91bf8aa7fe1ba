package interop_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/test/must"
)

// object reads a manifest like a Kubernetes client.
func object(tb testing.TB, text string) unstructured.Unstructured {
	tb.Helper()
	raw := must.Get(yaml.YAMLToJSONStrict([]byte(text)))(tb)
	var obj unstructured.Unstructured
	must.Do(tb, obj.UnmarshalJSON(raw))
	return obj
}

// peerOptions returns the peer's defaults for one signer, without a dry run in a cluster.
func peerOptions(edit func(*k8smanifest.VerifyResourceOption)) *k8smanifest.VerifyResourceOption {
	vo := k8smanifest.LoadDefaultConfig()
	vo.DisableDryRun = true
	vo.RekorURL = world.RekorURL
	edit(vo)
	return vo
}

func byWorkflow(vo *k8smanifest.VerifyResourceOption) {
	vo.Signers = k8smanifest.SignerList{subject()}
	vo.OIDCIssuer = world.IssuerURL
}

// peerVerifies reports whether the peer verifies the object. An error of the peer is a rejection.
func peerVerifies(tb testing.TB, obj unstructured.Unstructured, edit func(*k8smanifest.VerifyResourceOption)) (bool, *k8smanifest.VerifyResourceResult, error) {
	tb.Helper()
	defer quiet(tb)()
	result, err := k8smanifest.VerifyResource(obj, peerOptions(edit))
	return err == nil && result.Verified, result, err
}

// quiet hides the peer's prompts and raw signatures from the test's output, and the test's input
// from the peer, until restore is called.
func quiet(tb testing.TB) (restore func()) {
	tb.Helper()
	null := must.Get(os.OpenFile(os.DevNull, os.O_RDWR, 0))(tb)
	in, out, errs := os.Stdin, os.Stdout, os.Stderr
	os.Stdin, os.Stdout, os.Stderr = null, null, null
	return func() {
		os.Stdin, os.Stdout, os.Stderr = in, out, errs
		_ = null.Close()
	}
}

// keyFiles is a key pair of cosign in files, as the peer needs it.
type keyFiles struct {
	private, public string // paths
	publicPEM       string
	privatePEM      []byte
}

const keyPassword = "correct horse"

func pass(bool) ([]byte, error) { return []byte(keyPassword), nil }

func newKey(tb testing.TB) keyFiles {
	tb.Helper()
	keys := must.Get(cosign.GenerateKeyPair(pass))(tb)
	dir := tb.TempDir()
	k := keyFiles{filepath.Join(dir, "cosign.key"), filepath.Join(dir, "cosign.pub"), string(keys.PublicBytes), keys.PrivateBytes}
	for path, raw := range map[string][]byte{k.private: keys.PrivateBytes, k.public: keys.PublicBytes} {
		must.Do(tb, os.WriteFile(path, raw, 0o600))
	}
	return k
}

// peerSigns returns a manifest as the peer's signer signs it.
func peerSigns(tb testing.TB, text string, edit func(*k8smanifest.SignOption)) string {
	tb.Helper()
	// The peer leaves the key's password in the environment.
	if t, ok := tb.(*testing.T); ok {
		t.Setenv("COSIGN_PASSWORD", "")
	}
	dir := tb.TempDir()
	in := filepath.Join(dir, "in.yaml")
	must.Do(tb, os.WriteFile(in, []byte(text), 0o600))
	tarball := false
	so := &k8smanifest.SignOption{Output: filepath.Join(dir, "out.yaml"), UpdateAnnotation: true, Tarball: &tarball}
	so.RekorURL = world.RekorURL
	so.Force = true // without a prompt
	edit(so)
	restore := quiet(tb)
	out, err := k8smanifest.Sign(in, so)
	restore()
	if err != nil {
		tb.Fatalf("the peer does not sign: %v", err)
	}
	return string(out)
}
