package sandbox

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// The files in the folder of a sandbox, in addition to trusted_root.json and control.json.
const (
	configFile      = "polex.yaml"
	configV2File    = "polex-rekor-v2.yaml" // uses the log of version 2, if both versions run
	fulcioChainFile = "fulcio.pem"
	rekorKeyFile    = "rekor.pub"
	ctLogKeyFile    = "ctlog.pub"
)

// writeFiles writes the files for clients: the trust settings and the access to tokens.
func (s *Sandbox) writeFiles(id Identity) error {
	trusted, err := s.trustedRoot(time.Now())
	if err != nil {
		return err
	}
	secret, err := json.Marshal(control{MintURL: s.IssuerURL + mintPath, Secret: s.issuer.controlSecret})
	if err != nil {
		return fmt.Errorf("encode %s: %w", controlFile, err)
	}
	chain, err := cryptoutils.MarshalCertificatesToPEM([]*x509.Certificate{s.keys.fulcioIssuing.certificate, s.keys.fulcioRoot.certificate})
	if err != nil {
		return fmt.Errorf("encode %s: %w", fulcioChainFile, err)
	}
	type file struct {
		name string
		data []byte
		mode os.FileMode
	}
	files := []file{
		{trustedRootFile, trusted, 0o644},
		{configFile, s.config(id, s.RekorURL == ""), 0o644},
		{fulcioChainFile, chain, 0o644},
		{ctLogKeyFile, s.keys.ct.pem(), 0o644},
	}
	if s.RekorURL != "" && s.RekorV2URL != "" {
		files = append(files, file{configV2File, s.config(id, true), 0o644})
	}
	if s.RekorURL != "" {
		files = append(files, file{rekorKeyFile, s.keys.rekor.pem(), 0o644})
	}
	files = append(files, file{controlFile, append(secret, '\n'), 0o600}) // last, because it shows that the sandbox runs
	for _, file := range files {
		if err := writeFile(filepath.Join(s.Dir, file.name), file.data, file.mode); err != nil {
			return fmt.Errorf("write %s: %w", file.name, err)
		}
	}
	return nil
}

// config returns the polex configuration for this sandbox: it trusts exactly the identity of the
// token endpoint, and signs with the log of one version.
func (s *Sandbox) config(id Identity, v2 bool) []byte {
	id = id.withDefaults()
	issuer := id.Issuer
	if issuer == "" {
		issuer = s.IssuerURL
	}
	log := "rekorURL: " + s.RekorURL
	if v2 {
		log = "rekorURL: " + s.RekorV2URL + "\n  rekorVersion: 2\n  timestampURL: " + s.TimestampURL
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Written by polex-sandbox. These keys live only as long as it runs: trust them for trying and testing, nowhere else.
apiVersion: polex.dev/v1alpha1
kind: Config
sigstore:
  fulcioURL: %s
  %s
trust:
  trustedRoot: %s     # relative to this file
  maxLifetime: 90d
  authorities:
    - name: sandbox-workflow
      issuer: %s
      subject: %s
      claims:
        sourceRepositoryURI: %s
        sourceRepositoryRef: %s
        buildTrigger: %s
        runnerEnvironment: %s
`,
		s.FulcioURL, log, trustedRootFile,
		yamlString(issuer), yamlString(id.Subject()),
		yamlString(githubURL+"/"+id.Repository), yamlString(id.Ref),
		yamlString(id.EventName), yamlString(id.RunnerEnvironment))
	if id.Environment != "" {
		fmt.Fprintf(&b, "        deploymentEnvironment: %s\n", yamlString(id.Environment))
	}
	return []byte(b.String())
}

var (
	// plainYAML matches texts that all parsers read as a string, unless notYAML matches.
	plainYAML = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./@:-]*[A-Za-z0-9]$`)
	notYAML   = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|null|inf|nan)$`)
)

// yamlString quotes s if a parser could misread it, such as an event named on. Identities contain
// only printable characters, and Go and YAML quote these in the same way.
func yamlString(s string) string {
	if plainYAML.MatchString(s) && !notYAML.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// writeFile replaces the file atomically.
func writeFile(path string, data []byte, mode os.FileMode) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary.Name()) // return the first error
		}
	}()
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Chmod(mode)
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
