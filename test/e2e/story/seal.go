package story

import (
	"context"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
)

// Signer is a signer and its clock. The zero value is the merge workflow with the right time.
type Signer struct {
	sandbox.Identity
	Behind time.Duration // the delay of the clock that converts durations
}

// Seal signs exceptions with a certificate that Fulcio issues for this call, without the checks of
// polex-sign.
func (w *World) Seal(ctx context.Context, by Signer, drafts ...string) ([]string, error) {
	token, err := w.Issuer.Token(by.Identity, "sigstore")
	if err != nil {
		return nil, err
	}
	root, err := trust.LoadRoot(w.Sigstore.TrustedRootPath)
	if err != nil {
		return nil, err
	}
	signer, err := sign.Keyless(ctx, sign.Config{RekorURL: w.Sigstore.RekorURL, Root: root}, w.Sigstore.FulcioURL, token, time.Now())
	if err != nil {
		return nil, err
	}
	var docs []*exception.Document
	for _, text := range drafts {
		doc, err := exception.Parse([]byte(text), "draft")
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	sealed, err := signer.Seal(ctx, docs, time.Now().Add(-by.Behind))
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, doc := range sealed {
		texts = append(texts, string(doc.Source()))
	}
	return texts, nil
}
