package sign_test

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-openapi/runtime"
	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"
	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

func TestKeylessIdentity(t *testing.T) {
	f := shared(t)
	got := f.keyless(t, f.config()).Identity()
	want := sandbox.Identity{}.Subject()
	expect.That(t, got.Subject == want && got.Issuer == f.IssuerURL && got.Claims["buildTrigger"] == "push",
		"identity %+v, want subject %q of %q", got, want, f.IssuerURL)
}

// A token that Fulcio would reject is not sent.
func TestKeylessTokenNotSent(t *testing.T) {
	f := start(t)
	claims := func(json string) string { return "e30." + base64.RawURLEncoding.EncodeToString([]byte(json)) + ".AAAA" }
	for _, tc := range []struct{ name, token, want string }{
		{"expired", f.token(t, sandbox.Identity{TokenLifetime: -time.Minute}), "the identity token has expired, at 20"},
		{"empty", "", "not a JSON web token"},
		{"not a token", "hunter2", "not a JSON web token"},
		{"two parts", "e30.e30", "not a JSON web token"},
		{"four parts", "e30.e30.e30.e30", "not a JSON web token"},
		{"not base64", "e30.!!!.e30", "not a JSON web token"},
		{"padded base64", "e30." + base64.URLEncoding.EncodeToString([]byte(`{"exp":10}`)) + ".e30", "not a JSON web token"},
		{"not JSON", claims("exp=1"), "not a JSON web token"},
		{"a list", claims("[1]"), "not a JSON web token"},
		{"expiry as text", claims(`{"exp":"1"}`), "not a JSON web token"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := sign.Keyless(t.Context(), f.config(), f.FulcioURL, tc.token, time.Now())
			expect.Failure(s, err)(t, tc.want)
			expect.Is(t, "ErrTokenExpired", tc.name == "expired", errors.Is(err, sign.ErrTokenExpired))
			expect.That(t, len(tc.token) <= 8 || !strings.Contains(err.Error(), tc.token),
				"the error repeats the token: %v", err)
		})
	}
	expect.Is(t, "requests to Fulcio", 0, f.wire.count("fulcio"))
}

// A rejection by Fulcio is reported with its message, and there is no retry.
func TestKeylessFulcioRefuses(t *testing.T) {
	f := start(t)
	for _, tc := range []struct {
		name, audience string
		id             sandbox.Identity
	}{
		{name: "wrong audience", audience: "somebody-else"},
		{name: "no audience"},
		{name: "unknown issuer", audience: "sigstore", id: sandbox.Identity{Issuer: "https://stranger.invalid"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := f.wire.count(certificateRequest)
			token := must.Get(f.Token(tc.id, tc.audience))(t)
			s, err := sign.Keyless(t.Context(), f.config(), f.FulcioURL, token, time.Now())
			expect.Failure(s, err)(t, "certificate from "+f.FulcioURL+": Fulcio returned 4",
				fmt.Sprintf("audience %q", cmp.Or(tc.audience, "https://github.com/acme")),
				fmt.Sprintf("issuer %q", cmp.Or(tc.id.Issuer, f.IssuerURL)))
			expect.Is(t, "ErrTokenRefused", true, errors.Is(err, sign.ErrTokenRefused))
			expect.Is(t, "requests", 1, f.wire.count(certificateRequest)-before)
		})
	}
}

func TestUnreachable(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	f := shared(t)
	s, err := sign.Keyless(t.Context(), f.config(), gone.URL, f.token(t, sandbox.Identity{}), time.Now())
	expect.Failure(s, err)(t, "certificate from "+gone.URL, "refused")
	s = f.keyless(t, sign.Config{RekorURL: gone.URL, Root: f.root})
	refused(s.Seal(t.Context(), batch(t, 2), time.Now()))(t, "", "log "+gone.URL, "refused")
}

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
		expect.That(v.t, resp.StatusCode == http.StatusOK, "%s: %s", address, resp.Status)
	}
	return len(p), nil
}

func TestDeviceFlow(t *testing.T) {
	people := must.Get(sandboxtest.StartPeople())(t)
	t.Cleanup(func() { _ = people.Close() })
	person := &visitor{t: t}
	token := must.Get(sign.InteractiveToken(
		t.Context(), sign.Flow{Issuer: people.URL, Device: true, Out: person}))(t)
	expect.Contains(t, person.read.String(), "Enter the verification code")
	expect.That(t, strings.Count(token, ".") == 2, "%q is no token", token)
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

const keyPassword = "correct horse"

func password(text string) cosign.PassFunc {
	return func(bool) ([]byte, error) { return []byte(text), nil }
}

// encrypted returns a private key in cosign's format.
func encrypted(t *testing.T, key crypto.PrivateKey) *cosign.KeysBytes {
	t.Helper()
	der := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	path := filepath.Join(t.TempDir(), "key.pem")
	must.Do(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return must.Get(cosign.ImportKeyPair(path, password(keyPassword)))(t)
}

func generated(t *testing.T) *cosign.KeysBytes {
	t.Helper()
	return must.Get(cosign.GenerateKeyPair(password(keyPassword)))(t)
}

func TestWithKey(t *testing.T) {
	f := shared(t)
	rsaKey := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	promise := []string{"public-key", "signed-entry-timestamp", "inclusion-proof"}
	for name, tc := range map[string]struct {
		config  sign.Config
		keys    *cosign.KeysBytes
		checked []string
	}{
		"as cosign generates it": {f.config(), generated(t), promise},
		"RSA":                    {f.config(), encrypted(t, rsaKey), promise},
		"Rekor v2":               {f.configV2(), generated(t), []string{"public-key", "timestamp", "inclusion-proof"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := must.Get(sign.WithKey(tc.config, tc.keys.PrivateBytes, []byte(keyPassword)))(t)
			expect.Is(t, "the subject of a key", "", s.Identity().Subject)
			sealed := must.Get(s.Seal(t.Context(), batch(t, 10), time.Now()))(t)
			for _, opened := range mustVerify(t, f.ofKey(t, tc.keys.PublicBytes), sealed) {
				got := opened.Signatures()[0]
				expect.Equal(t, "evidence", tc.checked, got.Checked)
				expect.That(t, got.Authority == "team" && !got.WitnessedAt.IsZero(), "evidence %+v, want the key's, witnessed", got)
			}
			// The key is not the workflow.
			_, err := must.Get(verify.New(f.policy(t)))(t).Verify(sealed[0], time.Now())
			refused(nil, err)(t, verify.ReasonUnknownKey)
		})
	}
}

func TestWithKeyRefuses(t *testing.T) {
	f := shared(t)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	must.Do(t, err)
	p384 := must.Get(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))(t)
	good := generated(t)
	for _, tc := range []struct {
		name           string
		key            []byte
		password, want string
	}{
		{"wrong password", good.PrivateBytes, "incorrect horse", "open private key: "},
		{"no password", good.PrivateBytes, "", "open private key: "},
		{"ed25519", encrypted(t, edwards).PrivateBytes, keyPassword, "neither ECDSA nor RSA"},
		{"another digest", encrypted(t, p384).PrivateBytes, keyPassword, "SHA-256"},
		{"a public key", good.PublicBytes, keyPassword, "open private key: "},
		{"not a key", []byte("hello"), keyPassword, "open private key: "},
		{"nothing", nil, keyPassword, "open private key: "},
		{"cut off", good.PrivateBytes[:len(good.PrivateBytes)/2], keyPassword, "open private key: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := sign.WithKey(f.config(), tc.key, []byte(tc.password))
			expect.Failure(s, err)(t, tc.want)
			expect.That(t, tc.password == "" || !strings.Contains(err.Error(), tc.password),
				"the error repeats the password: %v", err)
		})
	}
}

// TestWithKMS signs with a key in another process, by sigstore's protocol for KMS plug-ins.
func TestWithKMS(t *testing.T) {
	f := shared(t)
	dir := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "../../test/sigstore-kms-local")
	out, err := build.CombinedOutput()
	must.That(t, err == nil, "%v\n%s", err, out)
	t.Setenv("PATH", dir)
	stored := func(name string, curve elliptic.Curve) (string, crypto.PublicKey) {
		t.Helper()
		key := must.Get(ecdsa.GenerateKey(curve, rand.Reader))(t)
		der := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
		return "local://" + path, key.Public()
	}
	reference, public := stored("key.pem", elliptic.P256())
	s := must.Get(sign.WithKMS(t.Context(), f.config(), reference))(t)
	sealed := must.Get(s.Seal(t.Context(), batch(t, 2), time.Now()))(t)
	mustVerify(t, f.ofKey(t, must.Get(cryptoutils.MarshalPublicKeyToPEM(public))(t)), sealed)

	ending, end := context.WithTimeout(t.Context(), time.Second)
	defer end()
	if _, err := sign.WithKMS(ending, f.config(), "local://never"); err == nil { // without the end, the test does not end
		t.Errorf("a plug-in that does not answer: %v", err)
	}

	unsupported, _ := stored("p384.pem", elliptic.P384())
	for name, tc := range map[string]struct{ reference, want string }{
		"no plug-in":           {"nothing://key", "sigstore-kms-nothing is not on the PATH"},
		"a path as plug-in":    {"../local://key", "not a reference to a key"},
		"no key":               {"local://", "not a reference to a key"},
		"a key that is gone":   {"local://" + filepath.Join(dir, "gone.pem"), "no such file"},
		"a key of another sum": {unsupported, "SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Failure(sign.WithKMS(t.Context(), f.config(), tc.reference))(t, tc.want)
		})
	}
}

// One certificate serves a batch, so it must be valid at every upload. If it expires before the
// last one, no document is returned.
func TestCertificateEndsHalfWay(t *testing.T) {
	f := start(t)
	s := f.keyless(t, f.config())
	sealed := must.Get(s.Seal(t.Context(), batch(t, 1), time.Now()))(t)
	read := must.Get(seal.Read(sealed[0]))(t)
	certificate := must.Get(x509.ParseCertificate(read.Signatures[0].Certificate))(t)
	const after = 11 // uploads, with the one above
	for _, tc := range []struct {
		name   string
		at     time.Time
		reason string // "" for success
	}{
		{"in its last second", certificate.NotAfter, ""},
		{"a second too late", certificate.NotAfter.Add(time.Second), verify.ReasonCertificateNotValid},
		{"before it began", certificate.NotBefore.Add(-time.Second), verify.ReasonCertificateNotValid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f.wire.forget()
			late := func(server string, r *http.Request) bool {
				return isUpload(server, r) && f.wire.count(uploadRequest) >= after
			}
			f.wire.meddle(only(late, f.loggedAt(t, tc.at)))
			out, err := s.Seal(t.Context(), batch(t, 100), time.Now())
			if tc.reason == "" {
				must.That(t, err == nil && len(out) == 100, "Seal: %d documents, %v", len(out), err)
				return
			}
			refused(out, err)(t, tc.reason, "does not verify, and is not written", "the certificate was valid from")
			n := f.wire.count(uploadRequest)
			expect.That(t, n < 100, "%d uploads, though the certificate ended after %d", n, after)
		})
	}
}

// loggedAt logs an entry with another time.
func (f *fixture) loggedAt(t *testing.T, at time.Time) hook {
	logged := func(r *http.Request) (*models.LogEntryAnon, error) {
		proposed, err := models.UnmarshalProposedEntry(r.Body, runtime.JSONConsumer())
		if err != nil {
			return nil, err
		}
		entry, err := types.CreateVersionedEntry(proposed)
		if err != nil {
			return nil, err
		}
		body, err := types.CanonicalizeEntry(r.Context(), entry)
		if err != nil {
			return nil, err
		}
		return f.ForgeEntry(r.Context(), body, at)
	}
	return func(_ string, _ http.Handler, w http.ResponseWriter, r *http.Request) {
		entry, err := logged(r)
		if err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"entry": entry})
	}
}
