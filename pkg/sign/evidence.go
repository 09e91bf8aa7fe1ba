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

// errLogged says that a log has this very entry and does not hand it out: one of
// version 2 never does, and one of version 1 not before it is in its tree.
var errLogged = errors.New("it has this very entry already, and does not hand it out again")

var _ sgsign.Transparency = (*evidence)(nil)

// evidence collects the evidence of a signature: a timestamp, where an authority is
// configured, and then the log entry, so that no signature is logged for which the
// authority refused a timestamp.
type evidence struct {
	log          *sgsign.Rekor
	logURL       string
	timestampURL string // "" asks none
	transport    retry.Transport
}

func newEvidence(config Config) *evidence {
	e := &evidence{logURL: config.RekorURL, timestampURL: config.TimestampURL, transport: config.transport()}
	options := &sgsign.RekorOptions{BaseURL: config.RekorURL, Version: uint32(config.RekorVersion)} //nolint:gosec // 1 or 2
	client := &http.Client{Transport: e.transport}
	address := strings.TrimSuffix(config.RekorURL, "/")
	// The library would set its own on first use, which is a race between parallel
	// uploads.
	options.Client, options.ClientV2 = rekorV1{address, client}, rekorV2{address, client}
	options.Timeout = -1 // the client's matter
	e.log = sgsign.NewRekor(options)
	return e
}

// GetTransparencyLogEntry adds the timestamp and the log entry to a bundle that
// is signed.
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
		Transport: e.transport.Within(ctx)}) // it is asked without a context
	response, err := authority.GetTimestamp(ctx, b.GetMessageSignature().GetSignature())
	if err != nil {
		return err
	}
	b.VerificationMaterial.TimestampVerificationData = &protobundle.TimestampVerificationData{
		Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: response}}}
	return nil
}

// complete runs what reads a server's answer. The library reads it as if it
// were complete. An answer that is not may end this document, and not the
// process.
func complete(what string, read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its answer is not a complete %s (%v)", what, p)
		}
	}()
	return read()
}
