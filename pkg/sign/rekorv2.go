package sign

import (
	"context"
	"fmt"
	"net/http"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekortiles "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/internal/retry"
)

var _ sgsign.RekorV2Client = rekorV2{}

// rekorV2 uploads to a Rekor v2 log, which can take 20 seconds to answer. Unlike rekor-tiles' own
// client, it retries.
type rekorV2 struct {
	address string // without a trailing slash
	client  *http.Client
}

// Add uploads an entry and returns it with its inclusion proof, or errLogged if the log has it
// already.
func (l rekorV2) Add(ctx context.Context, entry any) (*protorekor.TransparencyLogEntry, error) {
	rekord, ok := entry.(*rekortiles.HashedRekordRequestV002)
	if !ok {
		return nil, fmt.Errorf("upload an entry of the type %T", entry)
	}
	body, err := protojson.Marshal(&rekortiles.CreateEntryRequest{
		Spec: &rekortiles.CreateEntryRequest_HashedRekordRequestV002{HashedRekordRequestV002: rekord}})
	if err != nil {
		return nil, fmt.Errorf("write entry: %w", err)
	}
	status, answer, err := send(ctx, l.client, http.MethodPost, l.address+"/api/v2/log/entries", body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("upload entry: %w", err)
	case status == http.StatusConflict:
		return nil, errLogged
	case status != http.StatusCreated:
		return nil, retry.Returned(status, answer)
	}
	logged := new(protorekor.TransparencyLogEntry)
	if err := protojson.Unmarshal(answer, logged); err != nil {
		return nil, fmt.Errorf("its answer is not a log entry: %w", err)
	}
	return logged, nil
}
