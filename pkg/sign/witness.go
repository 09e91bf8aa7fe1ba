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

var _ sgsign.Transparency = (*witnesses)(nil)

// witnesses are who says when something was signed, and that it was: a
// timestamp authority, where one is asked, and then the log, so that nothing is
// logged that nobody would have witnessed.
type witnesses struct {
	log          *sgsign.Rekor
	logURL       string
	timestampURL string // "" asks none
	transport    retry.Transport
}

func newWitnesses(config Config) *witnesses {
	w := &witnesses{logURL: config.RekorURL, timestampURL: config.TimestampURL, transport: config.transport()}
	options := &sgsign.RekorOptions{BaseURL: config.RekorURL, Version: uint32(config.RekorVersion)} //nolint:gosec // 1 or 2
	client := &http.Client{Transport: w.transport}
	address := strings.TrimSuffix(config.RekorURL, "/")
	// The library would set its own on first use, which is a race between parallel
	// uploads.
	options.Client, options.ClientV2 = rekorV1{address, client}, rekorV2{address, client}
	options.Timeout = -1 // the client's matter
	w.log = sgsign.NewRekor(options)
	return w
}

// GetTransparencyLogEntry adds the timestamp and the log entry to a bundle that
// is signed.
func (w *witnesses) GetTransparencyLogEntry(ctx context.Context, signer []byte, b *protobundle.Bundle) error {
	if w.timestampURL != "" {
		if err := complete("timestamp", func() error { return w.stamp(ctx, b) }); err != nil {
			return fmt.Errorf("timestamp authority %s: %w", w.timestampURL, err)
		}
	}
	if err := complete("log entry", func() error { return w.log.GetTransparencyLogEntry(ctx, signer, b) }); err != nil {
		return fmt.Errorf("log %s: %w", w.logURL, err)
	}
	return nil
}

func (w *witnesses) stamp(ctx context.Context, b *protobundle.Bundle) error {
	authority := sgsign.NewTimestampAuthority(&sgsign.TimestampAuthorityOptions{URL: w.timestampURL, Timeout: -1,
		Transport: w.transport.Within(ctx)}) // it is asked without a context
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
