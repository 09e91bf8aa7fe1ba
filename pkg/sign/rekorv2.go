package sign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekortiles "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/encoding/protojson"
)

// errLogged says that a log of version 2 has this very entry, which it does not
// hand out again.
var errLogged = errors.New("it has this very entry already, and does not hand it out again")

const maxAnswer = 1 << 20 // bytes of a log's answer

var _ sgsign.RekorV2Client = rekorV2{}

// rekorV2 uploads to a log of Rekor's version 2, which may take 20 seconds to
// answer. Unlike rekor-tiles' own client, it asks a stumbling log again.
type rekorV2 struct{ address string }

// Add uploads an entry and returns it with the proof that it is in the log. It
// returns errLogged for one that was there before.
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
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(l.address, "/")+"/api/v2/log/entries", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("upload entry: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "polex")
	client := http.Client{Timeout: requestTimeout, Transport: patient{ctx: ctx, next: http.DefaultTransport}}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("upload entry: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read its answer: %w", err)
	case response.StatusCode == http.StatusConflict:
		return nil, errLogged
	case response.StatusCode != http.StatusCreated:
		return nil, fmt.Errorf("it returned %d: %s", response.StatusCode, answer[:min(len(answer), maxSaid)])
	}
	logged := new(protorekor.TransparencyLogEntry)
	if err := protojson.Unmarshal(answer, logged); err != nil {
		return nil, fmt.Errorf("its answer is not a log entry: %w", err)
	}
	return logged, nil
}
