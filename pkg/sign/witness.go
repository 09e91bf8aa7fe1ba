package sign

import (
	"context"
	"fmt"
	"net/http"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/rekor/pkg/client"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
)

var _ sgsign.Transparency = (*witnesses)(nil)

// witnesses are who says when something was signed, and that it was: a
// timestamp authority, where one is asked, and then the log, so that nothing is
// logged that nobody would have witnessed.
type witnesses struct {
	log          *sgsign.Rekor
	logURL       string
	timestampURL string // "" asks none
}

func newWitnesses(config Config) (*witnesses, error) {
	w := &witnesses{logURL: config.RekorURL, timestampURL: config.TimestampURL}
	options := &sgsign.RekorOptions{BaseURL: config.RekorURL, Timeout: requestTimeout, Version: uint32(config.RekorVersion)} //nolint:gosec // 1 or 2
	// The clients and the timeout are set here, for the library would otherwise
	// set them on first use, which is a race between parallel uploads.
	if config.RekorVersion == 2 {
		options.ClientV2 = rekorV2{address: config.RekorURL}
	} else {
		// Without a wait the client would spend all retries within the same instant.
		rekor, err := client.GetRekorClient(config.RekorURL, client.WithUserAgent("polex"),
			client.WithRetryCount(retries), client.WithRetryWaitMin(firstWait), client.WithRetryWaitMax(longWait))
		if err != nil {
			return nil, fmt.Errorf("log %s: %w", config.RekorURL, err)
		}
		options.Client = rekor.Entries
	}
	w.log = sgsign.NewRekor(options)
	return w, nil
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
	authority := sgsign.NewTimestampAuthority(&sgsign.TimestampAuthorityOptions{URL: w.timestampURL, Timeout: requestTimeout,
		Transport: patient{ctx: ctx, next: http.DefaultTransport}})
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
