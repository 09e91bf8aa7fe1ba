package sign

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/trust"
)

// Seal prepares a batch and signs it: [Prepare], [Signer.Ready] and [Signer.Sign]. Durations count from
// now. It returns [exception.Refusals] if a document cannot be signed.
func (s *Signer) Seal(ctx context.Context, docs []*exception.Document, now time.Time) ([]*exception.Document, error) {
	prepared, err := Prepare(docs, now, s.config.Rules)
	if err != nil {
		return nil, err
	}
	ready, err := s.Ready(prepared, now)
	if err != nil {
		return nil, err
	}
	return s.Sign(ctx, ready, now)
}

// Ready returns prepared documents as this signer signs them: they state the signing time if the
// signature does not bind it. It returns an [UnverifiedError] for a document that the trust policy would
// not accept from this signer.
func (s *Signer) Ready(prepared []*exception.Document, now time.Time) ([]*exception.Document, error) {
	ready := make([]*exception.Document, len(prepared))
	for i, doc := range prepared {
		var err error
		if ready[i], err = s.statesTime(doc, now); err == nil && s.parsed != nil { // a key has no identity to compare
			err = s.verifier.Foresee(ready[i], s.identity, s.parsed, now)
		}
		if err != nil {
			return nil, &UnverifiedError{Position: doc.Position(), Err: err}
		}
	}
	return ready, nil
}

// statesTime adds the signing time to a document.
func (s *Signer) statesTime(doc *exception.Document, now time.Time) (*exception.Document, error) {
	if s.parsed != nil && trust.BindsTime(s.parsed.NotBefore, s.parsed.NotAfter) {
		return doc, nil
	}
	return doc.Add(exception.Addition{Path: exception.Path{"metadata", "annotations", exception.AnnotationSignedAt},
		Value: now.UTC().Truncate(time.Second).Format(time.RFC3339)})
}

// Sign signs documents of [Signer.Ready] and returns them in the same order. It returns an
// [UnverifiedError] if a new signature does not verify, and another error if a service fails. With an
// error it returns no documents.
func (s *Signer) Sign(
	ctx context.Context, prepared []*exception.Document, now time.Time,
) ([]*exception.Document, error) {
	signed := make([]*exception.Document, len(prepared))
	var done atomic.Int64
	// A signed document is verified while the next one is uploaded.
	uploads := make(chan struct{}, s.config.Concurrency)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.config.Concurrency + runtime.GOMAXPROCS(0))
	for i, doc := range prepared {
		group.Go(func() error {
			out, err := s.seal(ctx, doc, uploads)
			if err != nil {
				return fmt.Errorf("sign %s: %w", doc.Position(), err)
			}
			if err := s.verify(out, now); err != nil {
				return &UnverifiedError{Position: doc.Position(), Err: err}
			}
			signed[i] = out
			if s.config.Progress != nil {
				s.config.Progress(int(done.Add(1)), len(prepared))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return signed, nil
}

// seal signs a document when uploads has room, and attaches the signature.
func (s *Signer) seal(ctx context.Context, doc *exception.Document,
	uploads chan struct{}) (*exception.Document, error) {
	message, err := seal.Message(doc)
	if err != nil {
		return nil, err
	}
	select {
	case uploads <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	pb, err := s.sign(ctx, message)
	if errors.Is(err, errLogged) {
		// The log has the entry of an upload that lost its answer, and rejects the retry. A new
		// signature makes a new entry.
		pb, err = s.sign(ctx, message)
	}
	if err != nil {
		return nil, err // keeps its room: the error ends the batch
	}
	<-uploads
	signature, err := s.signatureOf(pb, message)
	if err != nil {
		return nil, err
	}
	return seal.Attach(doc, &seal.Seal{Message: message, Signatures: []seal.Signature{signature}})
}

// sign signs a message and gets the evidence for the signature.
func (s *Signer) sign(ctx context.Context, message []byte) (*protobundle.Bundle, error) {
	options := sgsign.BundleOptions{Context: ctx, TransparencyLogs: []sgsign.Transparency{s.evidence}}
	if s.certificate != nil {
		options.CertificateProvider = certificateOnce(s.certificate)
	}
	return sgsign.Bundle(&sgsign.PlainData{Data: message}, s.keypair, options)
}

// signatureOf converts a bundle to the configured formats.
func (s *Signer) signatureOf(pb *protobundle.Bundle, message []byte) (seal.Signature, error) {
	entries := pb.GetVerificationMaterial().GetTlogEntries()
	if len(entries) != 1 {
		return seal.Signature{}, fmt.Errorf("the log answered with %d entries", len(entries))
	}
	digest := sha256.Sum256(message)
	if got := pb.GetMessageSignature().GetMessageDigest().GetDigest(); string(got) != string(digest[:]) {
		return seal.Signature{}, errors.New("the signing key uses another digest than SHA-256")
	}
	entry := entries[0]
	signature := seal.Signature{Signature: pb.GetMessageSignature().GetSignature(), Certificate: s.certificate}
	if s.config.BundleFormat != BundleCosign {
		modern, err := protojson.Marshal(pb)
		if err != nil {
			return seal.Signature{}, fmt.Errorf("write bundle: %w", err)
		}
		signature.BundleV03 = modern
	}
	if s.config.RekorVersion == 1 && s.config.BundleFormat != BundleSigstore {
		signature.Bundle = &seal.RekorBundle{
			SignedEntryTimestamp: entry.GetInclusionPromise().GetSignedEntryTimestamp(),
			Payload: seal.RekorPayload{
				Body:           base64.StdEncoding.EncodeToString(entry.GetCanonicalizedBody()),
				IntegratedTime: entry.GetIntegratedTime(),
				LogIndex:       entry.GetLogIndex(),
				LogID:          hex.EncodeToString(entry.GetLogId().GetKeyId()),
			},
		}
	}
	return signature, nil
}
