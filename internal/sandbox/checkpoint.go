package sandbox

import (
	"context"
	"encoding/base64"
	"fmt"

	tilesnote "github.com/sigstore/rekor-tiles/v2/pkg/note"
	"golang.org/x/mod/sumdb/note"
)

// checkpoint signs a note of three lines (C2SP tlog-checkpoint): origin, size and root of a tree.
func (l *rekorV2) checkpoint(ctx context.Context, size uint64, root []byte) (string, error) {
	signer, err := tilesnote.NewNoteSigner(ctx, rekorV2Hostname, l.signer)
	if err != nil {
		return "", fmt.Errorf("make note signer: %w", err)
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", rekorV2Hostname, size, base64.StdEncoding.EncodeToString(root))
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		return "", fmt.Errorf("sign checkpoint: %w", err)
	}
	return string(signed), nil
}
