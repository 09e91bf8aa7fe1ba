package interop_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// object reads a manifest as any Kubernetes client would.
func object(tb testing.TB, text string) unstructured.Unstructured {
	tb.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	var obj unstructured.Unstructured
	if err := obj.UnmarshalJSON(raw); err != nil {
		tb.Fatal(err)
	}
	return obj
}

// peerOptions are the peer's own defaults, for one signer, without a cluster to
// try objects on.
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

// peerVerifies reports whether the peer takes the object for what was signed.
// An error of the peer's is a refusal.
func peerVerifies(tb testing.TB, obj unstructured.Unstructured, edit func(*k8smanifest.VerifyResourceOption)) (bool, *k8smanifest.VerifyResourceResult, error) {
	tb.Helper()
	defer quiet(tb)()
	result, err := k8smanifest.VerifyResource(obj, peerOptions(edit))
	return err == nil && result.Verified, result, err
}

// quiet keeps the peer's prompts and raw signatures out of the test's output,
// and its hands off the test's input, until what it returns is called.
func quiet(tb testing.TB) (restore func()) {
	tb.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	in, out, errs := os.Stdin, os.Stdout, os.Stderr
	os.Stdin, os.Stdout, os.Stderr = null, null, null
	return func() {
		os.Stdin, os.Stdout, os.Stderr = in, out, errs
		_ = null.Close()
	}
}

// keyFiles are a key pair of cosign's on disk, where the peer wants it.
type keyFiles struct {
	private, public string // paths
	publicPEM       string
	privatePEM      []byte
}

const keyPassword = "correct horse"

func pass(bool) ([]byte, error) { return []byte(keyPassword), nil }

func newKey(tb testing.TB) keyFiles {
	tb.Helper()
	keys, err := cosign.GenerateKeyPair(pass)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	k := keyFiles{filepath.Join(dir, "cosign.key"), filepath.Join(dir, "cosign.pub"), string(keys.PublicBytes), keys.PrivateBytes}
	for path, raw := range map[string][]byte{k.private: keys.PrivateBytes, k.public: keys.PublicBytes} {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return k
}

// peerSigns returns what the peer's signer writes for a manifest.
func peerSigns(tb testing.TB, text string, edit func(*k8smanifest.SignOption)) string {
	tb.Helper()
	// It leaves the key's password in the environment.
	if t, ok := tb.(*testing.T); ok {
		t.Setenv("COSIGN_PASSWORD", "")
	}
	dir := tb.TempDir()
	in := filepath.Join(dir, "in.yaml")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	tarball := false
	so := &k8smanifest.SignOption{Output: filepath.Join(dir, "out.yaml"), UpdateAnnotation: true, Tarball: &tarball}
	so.RekorURL = world.RekorURL
	so.Force = true // asks nobody
	edit(so)
	restore := quiet(tb)
	out, err := k8smanifest.Sign(in, so)
	restore()
	if err != nil {
		tb.Fatalf("the peer does not sign: %v", err)
	}
	return string(out)
}
