package sandbox

import (
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/timestamp-authority/v2/pkg/verification"
)

const timestampPath = "/api/v1/timestamp"

// timestampAuthority answers RFC 3161 queries. The server of Sigstore's authority keeps its key in
// a package variable, which two sandboxes cannot share. This type uses its checks and its library.
type timestampAuthority struct {
	leaf, issuing, root *authority
}

func newTimestampAuthority() (*timestampAuthority, error) {
	root, err := newRoot("timestamp root")
	if err != nil {
		return nil, err
	}
	issuing, err := root.intermediate("timestamp intermediate", x509.ExtKeyUsageTimeStamping)
	if err != nil {
		return nil, err
	}
	leaf, err := issuing.timestamper("timestamp authority")
	if err != nil {
		return nil, err
	}
	return &timestampAuthority{leaf: leaf, issuing: issuing, root: root}, nil
}

func (t *timestampAuthority) handler() (http.Handler, error) {
	chain, err := cryptoutils.MarshalCertificatesToPEM([]*x509.Certificate{t.leaf.certificate, t.issuing.certificate, t.root.certificate})
	if err != nil {
		return nil, fmt.Errorf("encode timestamp chain: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+timestampPath, t.serve)
	mux.HandleFunc("GET "+timestampPath+"/certchain", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/pem-certificate-chain")
		_, _ = w.Write(chain) // the client has gone
	})
	return mux, nil
}

func (t *timestampAuthority) serve(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Content-Type"); got != "application/timestamp-query" {
		http.Error(w, "expected application/timestamp-query", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "read query: "+err.Error(), http.StatusBadRequest)
		return
	}
	query, err := timestamp.ParseRequest(body)
	if err != nil {
		http.Error(w, "parse query: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := verification.VerifyRequest(query); err != nil {
		http.Error(w, "refused: "+err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := t.stamp(query, time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/timestamp-reply")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer) // the client has gone
}

func (t *timestampAuthority) stamp(query *timestamp.Request, now time.Time) ([]byte, error) {
	policy := query.TSAPolicyOID
	if len(policy) == 0 {
		policy = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2} // Sigstore's timestamping policy
	}
	token := timestamp.Timestamp{
		HashAlgorithm:     query.HashAlgorithm,
		HashedMessage:     query.HashedMessage,
		Time:              now.UTC(), // GeneralizedTime is in UTC (RFC 5280, section 4.1.2.5.2)
		Accuracy:          time.Second,
		Nonce:             query.Nonce,
		Policy:            policy,
		AddTSACertificate: query.Certificates,
	}
	answer, err := token.CreateResponseWithOpts(t.leaf.certificate, t.leaf.key, crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("sign timestamp: %w", err)
	}
	return answer, nil
}
