package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/pkg/exception"
)

func newConfig(streams cli.Streams) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "config [flags] [FILE]",
		Short: "Print your own configuration with the sandbox in place of your Sigstore",
		Long: `Print your configuration FILE (default: .polex.yaml of the repository) with the running
sandbox instead of your Sigstore: the section sigstore, trust.trustedRoot and
trust.authorities change, and the requirements for approvals of a forge go. Everything
else stays. Without a FILE, config prints the polex.yaml of the sandbox.

Write it beside FILE, because paths in it are relative to its folder:

  polex-sandbox run -- sh -c '
    polex-sandbox config >.polex-sandbox.yaml &&
    polex-sign --config .polex-sandbox.yaml exception.yaml'

The sandbox is that of $POLEX_SANDBOX, which run sets, or of --dir.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.UsageHint("polex-sandbox config --help", "config accepts one file")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			sandbox, err := o.running()
			if err != nil {
				return err
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
			} else if name, err = repositoryConfig(); err != nil {
				return err
			}
			merged, err := merge(name, sandbox)
			if err != nil {
				return err
			}
			_, err = streams.Out.Write(merged)
			return err
		},
	}
	o.addRunning(command.Flags())
	return command
}

// repositoryConfig returns the path of the configuration in the repository, or "".
func repositoryConfig() (string, error) {
	root, err := config.RepositoryRoot(".")
	if err != nil || root == "" {
		return "", err
	}
	name := filepath.Join(root, config.Name)
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return name, nil
}

// merge returns a configuration with the Sigstore of a sandbox in it.
func merge(name, sandbox string) ([]byte, error) {
	theirs, err := readConfig(filepath.Join(sandbox, "polex.yaml"))
	if err != nil {
		return nil, cli.Hint(err, "is the sandbox still running?")
	}
	root, err := filepath.Abs(filepath.Join(sandbox, "trusted_root.json"))
	if err != nil {
		return nil, err
	}
	own := theirs
	if name != "" {
		if own, err = readConfig(name); err != nil {
			return nil, cli.UsageHint("name a configuration of kind Config", "%w", err)
		}
	}
	if own["kind"] != "Config" {
		return nil, cli.UsageHint("name a configuration of kind Config, such as .polex.yaml",
			"%s: its kind is %v", name, own["kind"])
	}
	trust, _ := own["trust"].(map[string]any)
	if trust == nil {
		trust = map[string]any{}
	}
	trusted, _ := theirs["trust"].(map[string]any)
	for _, key := range []string{"threshold", "groups", "revoked"} { // they name authorities
		delete(trust, key)
	}
	if promote, ok := own["promote"].(map[string]any); ok { // the sandbox has no forge to ask
		maps.DeleteFunc(promote, func(key string, _ any) bool { return key != "updates" })
	}
	trust["authorities"], trust["trustedRoot"] = trusted["authorities"], root
	own["sigstore"], own["trust"] = theirs["sigstore"], trust
	out, err := yaml.Marshal(own)
	return append([]byte("# Written by polex-sandbox config, for the sandbox that is running: trust it for trying "+
		"and testing, nowhere else.\n"), out...), err
}

func readConfig(name string) (map[string]any, error) {
	raw, err := cli.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	doc, err := exception.ParseUndeployed(raw, name)
	if err != nil {
		return nil, err
	}
	return doc.Object(), nil
}
