package sandbox

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	ctclient "github.com/google/certificate-transparency-go/client"
	"github.com/google/certificate-transparency-go/jsonclient"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/sigstore/fulcio/pkg/ca"
	"github.com/sigstore/fulcio/pkg/ca/baseca"
	"github.com/sigstore/fulcio/pkg/config"
	"github.com/sigstore/fulcio/pkg/generated/protobuf"
	"github.com/sigstore/fulcio/pkg/generated/protobuf/legacy"
	fulciolog "github.com/sigstore/fulcio/pkg/log"
	fulcio "github.com/sigstore/fulcio/pkg/server"
	v1 "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore/pkg/signature"
	"go.uber.org/zap"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// quietFulcio silences Fulcio's logger, a package variable. By default it writes every refusal to
// standard output, which belongs to the command under test. It runs once, before the first server,
// so that a second sandbox does not race with requests of the first.
var quietFulcio = sync.OnceFunc(func() { fulciolog.Logger = zap.NewNop().Sugar() })

// fulcioOptions are the parts of the other servers that Fulcio needs.
type fulcioOptions struct {
	people     string // "" for none
	issuerURLs []string
	ctURL      string
	ctKey      *logKey
	client     *http.Client // for requests to the log
	root       *authority
	issuing    *authority // the intermediate that signs certificates
}

// newFulcio connects Fulcio's server to its HTTP gateway. The gateway calls the server in process,
// without the gRPC connection of a real deployment.
func newFulcio(ctx context.Context, o fulcioOptions) (http.Handler, error) {
	quietFulcio()
	configuration, err := fulcioConfig(o.people, o.issuerURLs...)
	if err != nil {
		return nil, err
	}
	chain := []*x509.Certificate{o.issuing.certificate, o.root.certificate}
	if err := ca.VerifyCertChain(chain, o.issuing.key); err != nil {
		return nil, fmt.Errorf("verify certificate authority: %w", err)
	}
	// With the log's key, the client verifies every timestamp before Fulcio embeds it.
	transparency, err := ctclient.New(o.ctURL, o.client, jsonclient.Options{
		PublicKey: string(o.ctKey.pem()),
	})
	if err != nil {
		return nil, fmt.Errorf("make ct log client: %w", err)
	}
	algorithms, err := signature.NewAlgorithmRegistryConfig([]v1.PublicKeyDetails{
		v1.PublicKeyDetails_PKIX_ECDSA_P256_SHA_256,
		v1.PublicKeyDetails_PKIX_ECDSA_P384_SHA_384,
		v1.PublicKeyDetails_PKIX_ECDSA_P521_SHA_512,
		v1.PublicKeyDetails_PKIX_RSA_PKCS1V15_2048_SHA256,
		v1.PublicKeyDetails_PKIX_RSA_PKCS1V15_3072_SHA256,
		v1.PublicKeyDetails_PKIX_RSA_PKCS1V15_4096_SHA256,
		v1.PublicKeyDetails_PKIX_ED25519,
	})
	if err != nil {
		return nil, fmt.Errorf("list signing algorithms: %w", err)
	}
	issuing := &baseca.BaseCA{SignerWithChain: &ca.SignerCerts{Signer: o.issuing.key, Certs: chain}}
	server := fulcio.NewGRPCCAServer(transparency, issuing, algorithms, fulcio.NewIssuerPool(configuration))

	mux := runtime.NewServeMux(
		runtime.WithMetadata(tokenFromHeader),
		runtime.WithForwardResponseOption(responseHeaders),
	)
	if err := protobuf.RegisterCAHandlerServer(ctx, mux, server); err != nil {
		return nil, fmt.Errorf("register api v2: %w", err)
	}
	if err := legacy.RegisterCAHandlerServer(ctx, mux, fulcio.NewLegacyGRPCCAServer(server)); err != nil {
		return nil, fmt.Errorf("register api v1: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(config.With(r.Context(), configuration)))
	}), nil
}

// tokenFromHeader passes the bearer token on under the key that Fulcio reads.
func tokenFromHeader(_ context.Context, r *http.Request) metadata.MD {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	return metadata.Pairs(fulcio.MetadataOIDCTokenKey, token)
}

// responseHeaders converts gRPC metadata of the version 1 API to the HTTP status and SCT header.
func responseHeaders(ctx context.Context, w http.ResponseWriter, _ proto.Message) error {
	md, ok := runtime.ServerMetadataFromContext(ctx)
	if !ok {
		return nil
	}
	for name := range w.Header() {
		if strings.HasPrefix(name, runtime.MetadataHeaderPrefix) {
			w.Header().Del(name)
		}
	}
	if sct := md.HeaderMD.Get(fulcio.SCTMetadataKey); len(sct) > 0 {
		w.Header().Set("SCT", sct[0])
	}
	if status := md.HeaderMD.Get(fulcio.HTTPResponseCodeMetadataKey); len(status) > 0 {
		code, err := strconv.Atoi(status[0])
		if err != nil {
			return fmt.Errorf("parse status %q: %w", status[0], err)
		}
		w.WriteHeader(code)
	}
	return nil
}

// newCTClient has its own transport, so that Close drops only its connections.
func newCTClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: 10 * time.Second}
}
