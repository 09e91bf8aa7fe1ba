package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	ct "github.com/google/certificate-transparency-go"
	"github.com/google/certificate-transparency-go/tls"
	ctx509 "github.com/google/certificate-transparency-go/x509"
)

// ctPrefix is the name of the log in its address, as for logs that share a host.
const ctPrefix = "/test"

// ctLog is a certificate transparency log with the functions that a certificate authority uses (RFC
// 6962, sections 4.1 and 4.2): it checks a chain and signs a timestamp. It has no tree.
type ctLog struct {
	key   *logKey
	roots *ctx509.CertPool
}

func newCTLog(key *logKey, root *authority) (*ctLog, error) {
	certificate, err := ctx509.ParseCertificate(root.certificate.Raw)
	if ctx509.IsFatal(err) {
		return nil, fmt.Errorf("parse root: %w", err)
	}
	roots := ctx509.NewCertPool()
	roots.AddCert(certificate)
	return &ctLog{key: key, roots: roots}, nil
}

func (l *ctLog) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+ctPrefix+ct.AddChainPath, l.serveAdd(ct.X509LogEntryType))
	mux.HandleFunc("POST "+ctPrefix+ct.AddPreChainPath, l.serveAdd(ct.PrecertLogEntryType))
	return mux
}

func (l *ctLog) serveAdd(kind ct.LogEntryType) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request ct.AddChainRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, "the request is not JSON: "+err.Error(), http.StatusBadRequest)
			return
		}
		chain, err := l.checkChain(request.Chain, kind)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response, err := l.add(chain, kind, time.Now())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeJSON(w, http.StatusOK, response)
	}
}

// checkChain parses the submitted chain and verifies that it ends in the log's root. A log checks
// neither expiry nor key usages (RFC 6962, section 3.1), but a precertificate must be one.
func (l *ctLog) checkChain(raw [][]byte, kind ct.LogEntryType) ([]*ctx509.Certificate, error) {
	if len(raw) == 0 {
		return nil, errors.New("the chain is empty")
	}
	chain := make([]*ctx509.Certificate, 0, len(raw))
	intermediates := ctx509.NewCertPool()
	for i, der := range raw {
		certificate, err := ctx509.ParseCertificate(der)
		if ctx509.IsFatal(err) {
			return nil, fmt.Errorf("parse certificate %d: %w", i, err)
		}
		if i > 0 {
			intermediates.AddCert(certificate)
		}
		chain = append(chain, certificate)
	}
	if got, want := chain[0].IsPrecertificate(), kind == ct.PrecertLogEntryType; got != want {
		return nil, fmt.Errorf("is a precertificate: %t, expected %t", got, want)
	}
	verified, err := chain[0].Verify(ctx509.VerifyOptions{
		Roots:                          l.roots,
		Intermediates:                  intermediates,
		KeyUsages:                      []ctx509.ExtKeyUsage{ctx509.ExtKeyUsageAny},
		DisableTimeChecks:              true,
		DisableCriticalExtensionChecks: true, // the poison of a precertificate is critical
	})
	if err != nil {
		return nil, fmt.Errorf("verify chain: %w", err)
	}
	return verified[0], nil
}

// add returns a signed promise to log the certificate.
func (l *ctLog) add(chain []*ctx509.Certificate, kind ct.LogEntryType, now time.Time) (*ct.AddChainResponse, error) {
	stamp := uint64(now.UnixMilli()) //nolint:gosec // the clock is past 1970
	leaf, err := ct.MerkleTreeLeafFromChain(chain, kind, stamp)
	if err != nil {
		return nil, fmt.Errorf("build leaf: %w", err)
	}
	sct := ct.SignedCertificateTimestamp{SCTVersion: ct.V1, LogID: ct.LogID{KeyID: l.key.id}, Timestamp: stamp}
	input, err := ct.SerializeSCTSignatureInput(sct, ct.LogEntry{Leaf: *leaf})
	if err != nil {
		return nil, fmt.Errorf("encode timestamp: %w", err)
	}
	signature, err := l.sign(input)
	if err != nil {
		return nil, err
	}
	return &ct.AddChainResponse{SCTVersion: ct.V1, ID: l.key.id[:], Timestamp: stamp, Signature: signature}, nil
}

// sign creates TLS's digitally-signed structure (RFC 5246, section 4.7).
func (l *ctLog) sign(input []byte) ([]byte, error) {
	signature, err := tls.CreateSignature(*l.key.private, tls.SHA256, input)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	encoded, err := tls.Marshal(signature)
	if err != nil {
		return nil, fmt.Errorf("encode signature: %w", err)
	}
	return encoded, nil
}
