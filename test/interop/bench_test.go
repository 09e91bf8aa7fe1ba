package interop_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgbundle "github.com/sigstore/sigstore-go/pkg/bundle"
	sgverify "github.com/sigstore/sigstore-go/pkg/verify"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sigstore/k8s-manifest-sigstore/pkg/k8smanifest"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/beside"
	"github.com/polex-dev/polex/test/must"
)

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
