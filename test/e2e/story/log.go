package story

import (
	"context"
	"crypto/x509"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// LogEntry is Rekor's entry of a signature, with data of its certificate.
type LogEntry struct {
	Index                int64
	At                   time.Time
	Digest               string // of the signed message
	Subject, Issuer, Run string
}

// Logged fetches an entry from Rekor.
func (w *World) Logged(ctx context.Context, index int64) (*LogEntry, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/api/v1/log/entries?logIndex=%d", w.Sigstore.RekorURL, index), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer map[string]struct {
		Body                     []byte
		IntegratedTime, LogIndex int64
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read entry %d of Rekor: %w", index, err)
	}
	for _, found := range answer {
		var body struct {
			Spec struct {
				Data      struct{ Hash struct{ Value string } }
				Signature struct{ PublicKey struct{ Content []byte } }
			}
		}
		if err := json.Unmarshal(found.Body, &body); err != nil {
			return nil, fmt.Errorf("read entry %d of Rekor: %w", index, err)
		}
		entry := &LogEntry{Index: found.LogIndex, At: time.Unix(found.IntegratedTime, 0).UTC(), Digest: body.Spec.Data.Hash.Value}
		return entry, entry.certified(body.Spec.Signature.PublicKey.Content)
	}
	return nil, fmt.Errorf("find entry %d of Rekor: there is none", index)
}

// certified reads the identity from Fulcio's certificate.
func (e *LogEntry) certified(text []byte) error {
	block, _ := pem.Decode(text)
	if block == nil {
		return errors.New("the entry holds no certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || len(certificate.URIs) != 1 {
		return fmt.Errorf("read the certificate of the entry: %d subjects: %w", len(certificate.URIs), err)
	}
	e.Subject = certificate.URIs[0].String()
	// Fulcio's extensions below 1.3.6.1.4.1.57264.1.
	for number, into := range map[int]*string{8: &e.Issuer, 21: &e.Run} {
		for _, extension := range certificate.Extensions {
			if extension.Id.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, number}) {
				if _, err := asn1.Unmarshal(extension.Value, into); err != nil {
					return fmt.Errorf("read the certificate's extension %d: %w", number, err)
				}
			}
		}
	}
	return nil
}
