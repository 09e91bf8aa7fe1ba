package guard

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/guard/static"
	"github.com/polex-dev/polex/policies"
)

const staticHelp = `Write the files from which an API server takes the webhook and the policies of the guard
(Kubernetes 1.37, or 1.36 with a feature gate). Nobody can change or remove these
objects through the API, not even a member of system:masters.

The folder contains webhooks/, policies/ and admission.yaml, the value of
--admission-control-config-file. Copy it to each control plane node. Run the command
again to check the folder and to write a change; it replaces only its own files.

Exit codes: 0 written, 2 invalid command line, certificate or folder, 3 the files could
not be written.`

type staticFlags struct {
	static.Options
	Output string
	CA     string
}

// renewal is the time before the expiry of the CA at which the command begins to warn. The CA has to
// be replaced on every node by hand.
const renewal = 180 * 24 * time.Hour

func newStaticCommand(streams cli.Streams) *cobra.Command {
	f := staticFlags{Options: static.Options{Sources: policies.Files}}
	cmd := &cobra.Command{
		Use:                   "static --ca-file FILE --output-dir FOLDER",
		Short:                 "Write the files for an API server that loads the guard from its disk",
		Long:                  staticHelp,
		Example:               "  polex-guard static --ca-file ca.crt --output-dir polex",
		Args:                  noArguments,
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.CA, "ca-file", "", "PEM `file` with the CA of the guard's certificate (required)")
	flags.StringVar(&f.Output, "output-dir", "", "`folder` to write to (required)")
	flags.StringVar(&f.URL, "url", "https://127.0.0.1:9443", "`URL` of the guard as the API server reaches it, without a path")
	flags.StringVar(&f.Folder, "manifests-dir", "/etc/kubernetes/polex", "absolute `path` of this folder on the control plane")
	flags.StringArrayVar(&f.Writers, "writer", nil, "only this user may write exceptions, a `string`; can be repeated")
	flags.StringArrayVar(&f.WriterGroups, "writer-group", nil, "only members of this group may write exceptions, a `string`; can be repeated")
	flags.BoolVar(&f.DenyExec, "deny-exec", false, "reject exec, attach and proxy to Pods in kube-system, and the proxy to nodes")
	cmd.RunE = func(*cobra.Command, []string) error { return f.write(streams) }
	return cmd
}

func (f *staticFlags) write(streams cli.Streams) error {
	if f.CA == "" || f.Output == "" {
		return &cli.UsageError{Err: errors.New("missing required flags: --ca-file, --output-dir"), Hint: "name the CA of the guard's certificate, and a folder"}
	}
	if !path.IsAbs(f.Folder) || path.Clean(f.Folder) != f.Folder {
		return cli.Usagef("--manifests-dir: %q is not a clean absolute path, such as /etc/kubernetes/polex", f.Folder)
	}
	if u, err := url.Parse(f.URL); err != nil || u.Scheme != "https" || u.Hostname() == "" || u.String() != "https://"+u.Host {
		return cli.Usagef("--url: %q is not https://HOST:PORT", f.URL)
	}
	ends, err := f.bundle(streams.Now())
	if err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--ca-file: %w", err), Hint: "name the certificate of the CA, not that of the guard"}
	}
	files, err := static.Build(f.Options)
	if err != nil {
		return err
	}
	if err := f.fits(files); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--output-dir: %w", err)}
	}
	// admission.yaml last: with it, the API server begins to read the others.
	for _, name := range []string{path.Join(static.PolicyFolder, "polex.yaml"), path.Join(static.WebhookFolder, "polex.yaml"), "admission.yaml"} {
		to := filepath.Join(f.Output, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := cli.WriteFile(to, files[name]); err != nil {
			return err
		}
		fmt.Fprintf(streams.Out, "%s: written\n", to)
	}
	if ends.Sub(streams.Now()) < renewal {
		fmt.Fprintf(streams.Err, "polex-guard: warning: the CA expires at %s; renew it before, on every control plane node\n", ends.UTC().Format(time.RFC3339))
	}
	if !f.Local() {
		fmt.Fprintf(streams.Err, "polex-guard: warning: %s is not on this node, so no static policy protects the namespace of the guard, and an administrator of the cluster can change the guard there\n", f.URL)
	}
	return nil
}

// bundle reads the CA, and returns the first expiry of its certificates.
func (f *staticFlags) bundle(now time.Time) (ends time.Time, err error) {
	text, err := cli.ReadFile(f.CA)
	if err != nil {
		return ends, err
	}
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return ends, fmt.Errorf("%s contains a %s, and every reader of the files would see it", f.CA, block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			return ends, fmt.Errorf("%s: %w", f.CA, err)
		case !cert.BasicConstraintsValid || !cert.IsCA:
			return ends, fmt.Errorf("%s: %q is not a CA certificate", f.CA, cert.Subject)
		case now.Before(cert.NotBefore) || now.After(cert.NotAfter):
			return ends, fmt.Errorf("%s: %q is valid from %s to %s, and not now", f.CA, cert.Subject, cert.NotBefore.UTC().Format(time.RFC3339), cert.NotAfter.UTC().Format(time.RFC3339))
		}
		if ends.IsZero() || cert.NotAfter.Before(ends) {
			ends = cert.NotAfter
		}
		f.Bundle = append(f.Bundle, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	if ends.IsZero() {
		return ends, fmt.Errorf("%s contains no certificate in PEM", f.CA)
	}
	return ends, nil
}

// fits checks that the files replace only files of this command, and that the API server loads them
// together with the other files of the folders. It would refuse a whole folder.
func (f *staticFlags) fits(files map[string][]byte) error {
	folders := map[string]static.Manifests{}
	for _, folder := range []string{static.WebhookFolder, static.PolicyFolder} {
		there, err := static.Read(filepath.Join(f.Output, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if there == nil {
			there = static.Manifests{}
		}
		there["polex.yaml"] = files[path.Join(folder, "polex.yaml")]
		folders[folder] = there
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(f.Output, filepath.FromSlash(name))
		info, err := os.Lstat(to)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", to)
		}
		text, err := os.ReadFile(to)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(text, []byte(static.Header)) {
			return fmt.Errorf("%s was not written by polex-guard static; move it, or add its content to the files by hand", to)
		}
	}
	_, err := static.Parse(folders[static.WebhookFolder], folders[static.PolicyFolder])
	return err
}
