package sign

import (
	"context"
	"errors"
	"fmt"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/promotion"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/verify"
)

var _ promotion.Signer = (*batches)(nil)

// batches signs all batches of a run with one certificate. A document that the trust policy would not
// accept is a refusal.
type batches struct {
	*run
	// permitted, if not nil, returns an error if the target branch would reject the commit.
	permitted func(context.Context) error

	signer       *sign.Signer
	total, ended int // documents
}

// Ready implements [promotion.Signer].
func (b *batches) Ready(ctx context.Context, prepared []*exception.Document) ([]*exception.Document, error) {
	if b.permitted != nil {
		if err := b.permitted(ctx); err != nil {
			return nil, fmt.Errorf("nothing was signed: %w", err)
		}
	}
	b.bar.Stop() // the signer may ask a question
	progress := func(done, _ int) { b.bar.Tell("signing", b.ended+done, b.total) }
	var err error
	if b.signer, err = b.newSigner(ctx, progress); err != nil {
		return nil, err
	}
	b.bar = cli.StartProgress(b.streams.Err, "signing")
	b.total = len(prepared)
	ready, err := b.signer.Ready(prepared, b.now)
	return ready, refusedByPolicy(err)
}

// Sign implements [promotion.Signer].
func (b *batches) Sign(ctx context.Context, ready []*exception.Document) ([]*exception.Document, error) {
	signed, err := b.signer.Sign(ctx, ready, b.now)
	b.ended += len(signed)
	return signed, refusedByPolicy(err)
}

// refusedByPolicy converts the error of a signature that the trust policy does not accept to a refusal,
// and adds a hint to others.
func refusedByPolicy(err error) error {
	var unverified *sign.UnverifiedError
	var rejected *verify.Rejected
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unverified) && errors.As(err, &rejected) && rejected.IsPolicy():
		hint := "nothing was written; sign with an identity that the trust policy names, or change the policy"
		if rejected.Reason == verify.ReasonBeyondLimits {
			hint = "nothing was written; keep to the limits of this signer in the trust policy, " +
				"or sign with another identity"
		}
		return exception.Refusals{{Position: unverified.Position, Reason: rejected.Reason,
			Message: "the trust policy would not accept it: " + rejected.Detail, Hint: hint}}
	}
	return undone(err)
}
