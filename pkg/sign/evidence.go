package sign

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"

	"github.com/polex-dev/polex/internal/retry"
)

// errLogged means that a log has this entry already and does not return it. Rekor v2 never returns
// it, Rekor v1 not until the entry is in its tree.
var errLogged = errors.New("it already has this entry, and does not return it")

var _ sgsign.Transparency = (*evidence)(nil)

// evidence gets the evidence for a signature: a timestamp if an authority is configured, then the
// log entry. In this order, no signature without its timestamp is logged.
type evidence struct {
	log          *sgsign.Rekor
	logURL       string
	timestampURL string // "" for no timestamp
	transport    retry.Transport
}

func newEvidence(config Config) *evidence {
	e := &evidence{logURL: config.RekorURL, timestampURL: config.TimestampURL, transport: config.transport()}
	options := &sgsign.RekorOptions{BaseURL: config.RekorURL, Version: uint32(config.RekorVersion)} //nolint:gosec // 1 or 2
	client := &http.Client{Transport: e.transport}
	address := strings.TrimSuffix(config.RekorURL, "/")
	// Otherwise the library creates clients at the first use, which is a race between parallel
	// uploads.
	options.Client, options.ClientV2 = rekorV1{address, client}, rekorV2{address, client}
	options.Timeout = -1 // the client has timeouts
	e.log = sgsign.NewRekor(options)
	return e
}

// GetTransparencyLogEntry adds the timestamp and the log entry to a signed bundle.
func (e *evidence) GetTransparencyLogEntry(ctx context.Context, signer []byte, b *protobundle.Bundle) error {
	if e.timestampURL != "" {
		if err := complete("timestamp", func() error { return e.stamp(ctx, b) }); err != nil {
			return fmt.Errorf("timestamp authority %s: %w", e.timestampURL, err)
		}
	}
	if err := complete("log entry", func() error { return e.log.GetTransparencyLogEntry(ctx, signer, b) }); err != nil {
		return fmt.Errorf("log %s: %w", e.logURL, err)
	}
	return nil
}

func (e *evidence) stamp(ctx context.Context, b *protobundle.Bundle) error {
	authority := sgsign.NewTimestampAuthority(&sgsign.TimestampAuthorityOptions{URL: e.timestampURL, Timeout: -1,
		Transport: e.transport.Within(ctx)}) // the library sends this request without a context
	response, err := authority.GetTimestamp(ctx, b.GetMessageSignature().GetSignature())
	if err != nil {
		return err
	}
	b.VerificationMaterial.TimestampVerificationData = &protobundle.TimestampVerificationData{
		Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: response}}}
	return nil
}

// complete calls read, and turns a panic into an error. The library panics on an incomplete answer,
// which must fail this document only, not the process.
func complete(what string, read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its answer is not a complete %s (%v)", what, p)
		}
	}()
	return read()
}

// BundleFormat is the format of a signature's evidence.
type BundleFormat string

// The formats. Rekor v2 makes no inclusion promise, so [BundleCosign] cannot hold its evidence, and
// [BundleBoth] means [BundleSigstore].
const (
	// BundleBoth writes both formats, for readers of either one; "" means the same.
	BundleBoth BundleFormat = "both"
	// BundleCosign writes the annotation that k8s-manifest-sigstore and Kyverno up to 1.19 read:
	// the bundle of cosign before version 3.
	BundleCosign BundleFormat = "cosign"
	// BundleSigstore writes a Sigstore bundle v0.3 with the inclusion proof and timestamps.
	BundleSigstore BundleFormat = "sigstore"
)
