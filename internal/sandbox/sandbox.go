package sandbox

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// closeTimeout is the time that Close waits for running requests.
const closeTimeout = 2 * time.Second

// Options configure a sandbox. Dir is required.
type Options struct {
	Dir      string    // folder for trusted_root.json and polex.yaml, created if missing
	Identity Identity  // identity of tokens, trusted by polex.yaml; empty fields take the defaults
	Log      io.Writer // one line per request; nil discards them
	// RekorVersions are the versions of Rekor to run, 1 or 2. None means both, as in the
	// public-good instance.
	RekorVersions []int
	// People is an issuer of tokens with a mail address that Fulcio trusts too, and polex.yaml does
	// not. It answers already. A test of a sign-in has one.
	People string
	// Intercept, if set, wraps the handler of each server (ServerIssuer and so on) once at Start. A
	// test can use it to make a server fail or answer late or wrongly.
	Intercept func(server string, next http.Handler) http.Handler
}

// Sandbox is a running Sigstore. The URLs have no trailing slash. The caller must close it.
type Sandbox struct {
	Dir               string // absolute
	FulcioURL         string
	RekorURL          string // "" if version 1 does not run
	RekorV2URL        string // "" if version 2 does not run
	TimestampURL      string // with its path, as clients expect it
	CTLogURL          string
	IssuerURL         string
	OtherIssuerURL    string // a second issuer that Fulcio accepts and polex.yaml does not trust
	TrustedRootPath   string
	ConfigPath        string
	ConfigV2Path      string // polex.yaml with the log of version 2; "" if it does not run
	FulcioChainPath   string // PEM: intermediate, root; for tools that do not read a trusted root
	RekorKeyPath      string // PEM of version 1, for the same tools; "" if it does not run
	CTLogKeyPath      string // PEM, for the same tools
	TokenRequestURL   string // GitHub's ACTIONS_ID_TOKEN_REQUEST_URL
	TokenRequestToken string // GitHub's ACTIONS_ID_TOKEN_REQUEST_TOKEN

	issuer    *issuer
	keys      *keyring
	ctLog     *ctLog
	rekor     *rekor   // nil if it does not run
	rekorV2   *rekorV2 // nil if it does not run
	ctClient  *http.Client
	servers   []*server
	closeOnce sync.Once
	closeErr  error
}

// Start starts every server on a free port of 127.0.0.1, and writes trusted_root.json, polex.yaml
// and keys to opts.Dir. All servers answer when it returns. The context limits only the start.
func Start(ctx context.Context, opts Options) (*Sandbox, error) {
	if opts.Dir == "" {
		return nil, errors.New("sandbox needs a folder")
	}
	if err := opts.Identity.Validate(); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	versions, err := rekorVersions(opts.RekorVersions)
	if err != nil {
		return nil, err
	}
	opts.RekorVersions = versions
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve folder: %w", err)
	}
	if inUse(ctx, dir) {
		return nil, fmt.Errorf("a sandbox is running in %q already", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &Sandbox{
		Dir:             dir,
		TrustedRootPath: filepath.Join(dir, trustedRootFile),
		ConfigPath:      filepath.Join(dir, configFile),
		FulcioChainPath: filepath.Join(dir, fulcioChainFile),
		CTLogKeyPath:    filepath.Join(dir, ctLogKeyFile),
		ctClient:        newCTClient(),
	}
	if err := s.start(ctx, opts); err != nil {
		_ = s.Close() // return the first error
		return nil, err
	}
	return s, nil
}

func (s *Sandbox) start(ctx context.Context, opts Options) error {
	launch, err := s.listenAll(ctx, opts)
	if err != nil {
		return err
	}
	if s.issuer, err = newIssuer(s.IssuerURL, opts.Identity); err != nil {
		return err
	}
	s.TokenRequestToken = s.issuer.requestToken
	if s.keys, err = newKeyring(); err != nil {
		return err
	}
	if s.ctLog, err = newCTLog(s.keys.ct, s.keys.fulcioRoot); err != nil {
		return err
	}
	if err := s.launchLogs(launch); err != nil {
		return err
	}
	stamps, err := s.keys.timestamps.handler()
	if err != nil {
		return err
	}
	launch(ServerIssuer, s.issuer.handler()) // first, because newFulcio requests its keys
	launch(ServerCTLog, s.ctLog.handler())
	launch(ServerTimestamp, stamps)
	authority, err := newFulcio(ctx, fulcioOptions{
		people:     opts.People,
		issuerURLs: []string{s.IssuerURL, s.OtherIssuerURL},
		ctURL:      s.CTLogURL,
		ctKey:      s.keys.ct,
		client:     s.ctClient,
		root:       s.keys.fulcioRoot,
		issuing:    s.keys.fulcioIssuing,
	})
	if err != nil {
		return err
	}
	launch(ServerFulcio, authority)
	return s.writeFiles(opts.Identity)
}

// rekorVersions returns the requested versions, each once.
func rekorVersions(asked []int) ([]int, error) {
	if len(asked) == 0 {
		return []int{1, 2}, nil
	}
	versions := slices.Compact(slices.Sorted(slices.Values(asked)))
	for _, version := range versions {
		if version != 1 && version != 2 {
			return nil, fmt.Errorf("version %d of Rekor is not 1 or 2", version)
		}
	}
	return versions, nil
}

// launchLogs creates and starts each log that has an address.
func (s *Sandbox) launchLogs(launch func(name string, h http.Handler)) error {
	var err error
	if s.RekorURL != "" {
		if s.rekor, err = newRekor(s.keys.rekor); err != nil {
			return err
		}
		launch(ServerRekor, s.rekor.handler())
		s.RekorKeyPath = filepath.Join(s.Dir, rekorKeyFile)
	}
	if s.RekorV2URL != "" {
		if s.rekorV2, err = newRekorV2(s.keys.rekorV2); err != nil {
			return err
		}
		launch(ServerRekorV2, s.rekorV2.handler())
		s.ConfigV2Path = s.ConfigPath
		if s.RekorURL != "" {
			s.ConfigV2Path = filepath.Join(s.Dir, configV2File)
		}
	}
	return nil
}

// listenAll opens the ports and sets the addresses. launch starts a handler on one of them.
func (s *Sandbox) listenAll(ctx context.Context, opts Options) (launch func(name string, h http.Handler), err error) {
	out := &requestLog{out: opts.Log}
	if opts.Log == nil {
		out.out = io.Discard
	}
	byName := map[string]*server{}
	names := []string{ServerIssuer, ServerCTLog, ServerTimestamp, ServerFulcio}
	for _, version := range opts.RekorVersions {
		names = append(names, map[int]string{1: ServerRekor, 2: ServerRekorV2}[version])
	}
	for _, name := range names {
		srv, err := listen(ctx, name)
		if err != nil {
			return nil, err
		}
		byName[name] = srv
		s.servers = append(s.servers, srv)
	}
	s.FulcioURL = byName[ServerFulcio].url
	if srv := byName[ServerRekor]; srv != nil {
		s.RekorURL = srv.url
	}
	if srv := byName[ServerRekorV2]; srv != nil {
		s.RekorV2URL = srv.url
	}
	s.CTLogURL = byName[ServerCTLog].url + ctPrefix
	s.TimestampURL = byName[ServerTimestamp].url + timestampPath
	s.IssuerURL = byName[ServerIssuer].url
	s.OtherIssuerURL = s.IssuerURL + otherPath
	s.TokenRequestURL = s.IssuerURL + tokenPath + tokenQuery
	return func(name string, h http.Handler) {
		if opts.Intercept != nil {
			h = opts.Intercept(name, h)
		}
		byName[name].serve(h, out)
	}, nil
}

// Token mints a token without a request. Empty fields of id take the values of Options.Identity. A
// negative TokenLifetime gives an expired token. Fulcio accepts the audience sigstore.
func (s *Sandbox) Token(id Identity, audience string) (string, error) {
	return s.issuer.mint(id, audience)
}

// Environ returns GitHub's two variables for a command, and POLEX_SANDBOX, the folder.
func (s *Sandbox) Environ() []string {
	return []string{
		"ACTIONS_ID_TOKEN_REQUEST_URL=" + s.TokenRequestURL,
		"ACTIONS_ID_TOKEN_REQUEST_TOKEN=" + s.TokenRequestToken,
		"POLEX_SANDBOX=" + s.Dir,
	}
}

// Close stops the servers, frees their ports and removes the secret from the folder. The trusted
// root stays, so that signed exceptions can still be verified. It needs two seconds at most.
// Further calls return the same result.
func (s *Sandbox) Close() error {
	s.closeOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		errs := make([]error, len(s.servers)+1)
		var wg sync.WaitGroup
		for i, srv := range s.servers {
			wg.Go(func() { errs[i] = srv.close(ctx) })
		}
		wg.Wait()
		s.ctClient.CloseIdleConnections()
		if err := os.Remove(filepath.Join(s.Dir, controlFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs[len(s.servers)] = fmt.Errorf("remove %s: %w", controlFile, err)
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

// keyring contains every key of a sandbox except the issuer's.
type keyring struct {
	fulcioRoot, fulcioIssuing *authority
	ct, rekor, rekorV2        *logKey
	timestamps                *timestampAuthority
}

func newKeyring() (*keyring, error) {
	var k keyring
	var err error
	if k.fulcioRoot, err = newRoot("fulcio root"); err != nil {
		return nil, err
	}
	if k.fulcioIssuing, err = k.fulcioRoot.intermediate("fulcio intermediate", x509.ExtKeyUsageCodeSigning); err != nil {
		return nil, err
	}
	if k.ct, err = newLogKey(); err != nil {
		return nil, err
	}
	if k.rekor, err = newLogKey(); err != nil {
		return nil, err
	}
	if k.rekorV2, err = newLogKey(); err != nil {
		return nil, err
	}
	if k.timestamps, err = newTimestampAuthority(); err != nil {
		return nil, err
	}
	return &k, nil
}
