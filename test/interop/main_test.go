package interop_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/internal/sandbox/sandboxtest"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/beside"
	"github.com/polex-dev/polex/test/must"
)

// world is the only Sigstore of this process. The peer reads Fulcio's roots from the environment
// once and keeps them, so everything is set before the first test.
var world struct {
	*sandbox.Sandbox
	root *trust.Root
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(world.Dir)
	defer world.Close()
	return m.Run()
}

// digest is the digest of an artifact in an upload to Rekor, or in a search of its index.
var digest = regexp.MustCompile(`"(?:value|hash)":"(?:sha256:)?([0-9a-f]{64})"`)

// indexed adds the index of Rekor, which the peer searches for an artifact directly after its upload.
func indexed(server string, next http.Handler) http.Handler {
	if server != sandbox.ServerRekor {
		return next
	}
	var mu sync.Mutex
	index := map[string][]string{} // IDs by digest, oldest first
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		of := ""
		if found := digest.FindSubmatch(body); found != nil {
			of = string(found[1])
		}
		if r.URL.Path == "/api/v1/index/retrieve" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(append([]string{}, index[of]...))
			return
		}
		next.ServeHTTP(w, r)
		if id := w.Header().Get("ETag"); id != "" {
			index[of] = append(index[of], id)
		}
	})
}

func setUp() error {
	dir, err := os.MkdirTemp("", "polex-interop-")
	if err != nil {
		return err
	}
	options := sandbox.Options{Dir: dir, Intercept: indexed}
	if world.Sandbox, err = sandbox.Start(context.Background(), options); err != nil {
		return err
	}
	if world.root, err = trust.LoadRoot(world.TrustedRootPath); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"SIGSTORE_ROOT_FILE":              world.FulcioChainPath,
		"SIGSTORE_REKOR_PUBLIC_KEY":       world.RekorKeyPath,
		"SIGSTORE_CT_LOG_PUBLIC_KEY_FILE": world.CTLogKeyPath,
		"ACTIONS_ID_TOKEN_REQUEST_URL":    world.TokenRequestURL,
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN":  world.TokenRequestToken,
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	target, err := url.Parse(world.FulcioURL)
	if err != nil {
		return err
	}
	detour("fulcio.sigstore.dev:443", target.Host)
	return nil
}

// detour redirects connections for one address to another one, without TLS. The peer's Fulcio
// address is a constant, and its client uses http.DefaultTransport, which cosign expects to be an
// *http.Transport. Tests must not connect to other hosts than loopback.
func detour(from, to string) {
	var dialer net.Dialer
	transport := http.DefaultTransport.(*http.Transport)
	transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != from {
			return nil, fmt.Errorf("a test connects to %s", address)
		}
		return dialer.DialContext(ctx, network, to)
	}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err != nil || host != "127.0.0.1" {
			return nil, fmt.Errorf("a test connects to %s", address)
		}
		return dialer.DialContext(ctx, network, address)
	}
}

func signer(tb testing.TB) *sign.Signer {
	tb.Helper()
	return must.Get(sandboxtest.Signer(tb.Context(), world.Sandbox, sandbox.Identity{}))(tb)
}

func subject() string { return sandbox.Identity{}.Subject() }

// workflow is the authority for the sandbox's tokens.
func workflow() trust.AuthorityConfig {
	return trust.AuthorityConfig{Name: "workflow", Issuer: world.IssuerURL, Subject: subject()}
}

func policyFor(tb testing.TB, authority trust.AuthorityConfig) *trust.Policy {
	tb.Helper()
	return must.Get(trust.New(trust.Config{Authorities: []trust.AuthorityConfig{authority}}, world.root))(tb)
}

func verifier(tb testing.TB, authority trust.AuthorityConfig) *verify.Verifier {
	tb.Helper()
	return must.Get(verify.New(policyFor(tb, authority)))(tb)
}

// BenchmarkBeside verifies one signed exception in turns, so that other load on the machine affects all equally:
//
//   - bare is sigstore-go's own Verify of the bundle alone, from its JSON;
//   - ecdsa is only the ECDSA operations that this needs: two certificates by
//     P-384 keys, and by P-256 keys the SCT, the promise, the checkpoint and the
//     signature;
//   - peer is k8smanifest.VerifyResource of the object;
//   - distinct is polex, of the object, under a certificate that it never saw;
//   - shared is the same under one that it did, as in a batch;
//   - bytes is shared from the text of a file.
//
// It prints medians in microseconds, and each as a multiple of bare.
func BenchmarkBeside(b *testing.B) {
	text := sealed(b, texts["kyverno.io, with comments"])
	obj := object(b, text)
	peer, policy := peerOptions(byWorkflow), policyFor(b, workflow())
	met, now := verifier(b, workflow()), time.Now()
	polex := func(v *verify.Verifier) error {
		doc, err := exception.FromObject(obj.Object)
		if err == nil {
			_, err = v.Verify(doc, now)
		}
		return err
	}
	ways := []*beside.Way{
		way(b, "bare", bare(b, text)),
		way(b, "ecdsa", ecdsaAlone(b)),
		way(b, "peer", func() error {
			result, err := k8smanifest.VerifyResource(obj, peer)
			if err == nil && !result.Verified {
				return errors.New("the peer refuses")
			}
			return err
		}),
		way(b, "distinct", func() error {
			v, err := verify.New(policy)
			if err != nil {
				return err
			}
			return polex(v)
		}),
		way(b, "shared", func() error { return polex(met) }),
		way(b, "bytes", func() error {
			doc, err := exception.Parse([]byte(text), "sealed.yaml")
			if err == nil {
				_, err = met.Verify(doc, now)
			}
			return err
		}),
	}
	for b.Loop() {
		beside.Turn(ways...)
	}
	for _, w := range ways {
		b.ReportMetric(float64(w.Median().Microseconds()), w.Name+"-us")
		b.ReportMetric(w.Ratio(ways[0]), w.Name+"/bare")
	}
}

func way(b *testing.B, name string, once func() error) *beside.Way {
	return &beside.Way{Name: name, Do: func() beside.Cost { return beside.Timed(b, once) }}
}

func bare(b *testing.B, text string) func() error {
	s := must.Get(seal.Read(parse(b, text)))(b)
	v := must.Get(sgverify.NewVerifier(world.root.Material(), sgverify.WithTransparencyLog(1),
		sgverify.WithObserverTimestamps(1), sgverify.WithSignedCertificateTimestamps(1)))(b)
	identity := must.Get(sgverify.NewShortCertificateIdentity(world.IssuerURL, "", subject(), ""))(b)
	return func() error {
		pb := new(protobundle.Bundle)
		if err := protojson.Unmarshal(s.Signatures[0].BundleV03, pb); err != nil {
			return err
		}
		entity, err := sgbundle.NewBundle(pb)
		if err != nil {
			return err
		}
		_, err = v.Verify(entity, sgverify.NewPolicy(sgverify.WithArtifact(bytes.NewReader(s.Message)), sgverify.WithCertificateIdentity(identity)))
		return err
	}
}

func ecdsaAlone(b *testing.B) func() error {
	digest := sha256.Sum256([]byte("a message"))
	type signed struct {
		key       *ecdsa.PublicKey
		signature []byte
	}
	var all []signed
	for _, curve := range []elliptic.Curve{elliptic.P384(), elliptic.P384(), elliptic.P256(), elliptic.P256(), elliptic.P256(), elliptic.P256()} {
		key := must.Get(ecdsa.GenerateKey(curve, rand.Reader))(b)
		all = append(all, signed{&key.PublicKey, must.Get(ecdsa.SignASN1(rand.Reader, key, digest[:]))(b)})
	}
	return func() error {
		for _, s := range all {
			if !ecdsa.VerifyASN1(s.key, digest[:], s.signature) {
				return errors.New("a good signature does not hold")
			}
		}
		return nil
	}
}
