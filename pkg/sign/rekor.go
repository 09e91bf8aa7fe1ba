package sign

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	rekortiles "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	"github.com/sigstore/rekor/pkg/generated/client/entries"
	"github.com/sigstore/rekor/pkg/generated/models"
	"github.com/sigstore/rekor/pkg/types"
	sgsign "github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/transparency-dev/merkle/rfc6962"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/internal/retry"
)

var _ sgsign.RekorClient = rekorV1{}

// rekorV1 uploads to a Rekor v1 log. Unlike Rekor's own client, it limits the size of answers and
// retries after an incomplete one.
type rekorV1 struct {
	address string // without a trailing slash
	client  *http.Client
}

const entriesPath = "/api/v1/log/entries"

// CreateLogEntry uploads an entry and returns the log's entry. If the answer to an earlier upload
// was lost and the log has the entry already, it returns that one, or errLogged if the log does not
// return it.
func (l rekorV1) CreateLogEntry(params *entries.CreateLogEntryParams,
	_ ...entries.ClientOption) (*entries.CreateLogEntryCreated, error) {
	body, err := json.Marshal(params.ProposedEntry)
	if err != nil {
		return nil, fmt.Errorf("write entry: %w", err)
	}
	status, answer, err := send(params.Context, l.client, http.MethodPost, l.address+entriesPath, body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("upload entry: %w", err)
	case status == http.StatusConflict:
		return l.logged(params.Context, params.ProposedEntry)
	case status != http.StatusCreated:
		return nil, retry.Returned(status, answer)
	}
	return onlyEntry(answer)
}

// logged fetches an entry that is already in the log by the hash of its content. It uses neither
// the location in the log's answer nor a search. The entry is verified later, like any answer of
// the log.
func (l rekorV1) logged(ctx context.Context, proposed models.ProposedEntry) (*entries.CreateLogEntryCreated, error) {
	entry, err := types.UnmarshalEntry(proposed)
	if err != nil {
		return nil, fmt.Errorf("read own entry: %w", err)
	}
	body, err := types.CanonicalizeEntry(ctx, entry)
	if err != nil {
		return nil, fmt.Errorf("read own entry: %w", err)
	}
	id := hex.EncodeToString(rfc6962.DefaultHasher.HashLeaf(body))
	status, answer, err := send(ctx, l.client, http.MethodGet, l.address+entriesPath+"/"+id, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("fetch the entry that it has already: %w", err)
	case status == http.StatusNotFound: // accepted, but not in its tree yet
		return nil, errLogged
	case status != http.StatusOK:
		return nil, fmt.Errorf("fetch the entry that it has already: %w", retry.Returned(status, answer))
	}
	return onlyEntry(answer)
}

// onlyEntry reads an answer with one entry.
func onlyEntry(answer []byte) (*entries.CreateLogEntryCreated, error) {
	var logged models.LogEntry
	if err := json.Unmarshal(answer, &logged); err != nil {
		return nil, fmt.Errorf("its answer is not a log entry: %w", err)
	}
	if len(logged) != 1 {
		return nil, fmt.Errorf("its answer is not a complete log entry (%d are in it)", len(logged))
	}
	created := &entries.CreateLogEntryCreated{Payload: logged}
	for id := range logged {
		created.ETag = id
	}
	return created, nil
}

// GetLogEntryByUUID always fails. The library calls it after a conflict, which CreateLogEntry
// handles.
func (l rekorV1) GetLogEntryByUUID(*entries.GetLogEntryByUUIDParams,
	...entries.ClientOption) (*entries.GetLogEntryByUUIDOK, error) {
	return nil, errors.New("a log entry is fetched by its own hash")
}

// send sends a request to a log and returns the status and the body of the answer. body can be nil.
func send(ctx context.Context, client *http.Client, method, address string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "polex")
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

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
