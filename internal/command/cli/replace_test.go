package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/test/must"
)

// TestOutputsReplaceNoInput: an output that is an input, the configuration, a file that it names or
// another output is rejected before the command runs, by any name of the file.
func TestOutputsReplaceNoInput(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"in/a.yaml": "a", "key.pem": "k", "root.json": "r", "signed/s.yaml": "s", "free.json": "{}", "policies/p.yaml": "p", "ca.pem": "c", ".git/HEAD": "",
		".polex.yaml": "apiVersion: polex.dev/v1alpha1\nkind: Config\ndirectories: {signed: signed}\n" +
			"trust:\n  trustedRoot: root.json\n  authorities:\n  - {name: k, keyFile: key.pem}\n",
	} {
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(content), 0o600))
	}
	for link, target := range map[string]string{"link.yaml": "in/a.yaml", "folder": "in"} {
		must.Do(t, os.Symlink(target, link))
	}
	must.Do(t, os.Link("in/a.yaml", "hard.yaml"))
	for _, tc := range []struct{ args, problem string }{
		{"in/a.yaml --report json=in/a.yaml", "would replace the input in/a.yaml"},
		{"in/a.yaml --report json=./in/../in/a.yaml", "would replace the input in/a.yaml"},
		{"in/a.yaml --report json=link.yaml", "would replace the input in/a.yaml"},
		{"link.yaml --report json=in/a.yaml", "would replace the input link.yaml"},
		{"in/a.yaml --report json=hard.yaml", "would replace the input in/a.yaml"},
		{"in --report json=in/a.yaml", "would replace the input in"},
		{"folder --report json=in/a.yaml", "would replace the input folder"},
		{"in --report json=folder/a.yaml", "would replace the input in"},
		{"in --report json=.polex.yaml", "would replace the configuration"},
		{"in --report json=in/.POLEX.yaml", "would replace the configuration"},
		{"in --report json=key.pem", "would replace a file of the trust policy"},
		{"in --report json=root.json", "would replace a file of the trust policy"},
		{"in --report json=signed/s.yaml", "would replace a file of signed"},
		{"in --policies policies --report json=policies/p.yaml", "would replace --policies policies"},
		{"in --key ca.pem --report json=ca.pem", "would replace --key ca.pem"},
		{"in --output-file key.pem", "would replace a file of the trust policy"},
		{"in --output-file new --report json=new", "would replace --report new"},
		{"in --signed-output new/ --report json=new", "would replace --signed-output new/"},
		{"in --report json=folder/../in/a.yaml", "would replace the input in"},
		{"in --report text=new --report json=./NEW", "would replace --report new"},
		{"in --report text=free.json --report json=free.json", "would replace --report free.json"},
		{"in --output-file signed/s.yaml --report json=free.json", ""},
		{"in --report json=in/new.yaml --report text=new", ""},
		{"in --report json=/dev/null --report text=/dev/null", ""},
	} {
		ran := false
		build := func(streams cli.Streams) *cobra.Command {
			cmd := &cobra.Command{Use: "polex-validate", Args: cobra.ArbitraryArgs, RunE: func(*cobra.Command, []string) error { ran = true; return nil }}
			cli.AddFormatFlag(cmd)
			cmd.Flags().String("output-file", "", "")
			cmd.Flags().String("key", "", "")
			cmd.Flags().String("signed-output", "", "")
			cmd.Flags().StringSlice("policies", nil, "")
			cli.Writes(cmd.Flags(), "output-file")
			return cmd
		}
		var stderr bytes.Buffer
		status := cli.Run(context.Background(), build, strings.Fields(tc.args), cli.Streams{In: &stderr, Out: &stderr, Err: &stderr, Now: time.Now})
		if ran != (tc.problem == "") || tc.problem != "" && (status != cli.Usage || !strings.Contains(stderr.String(), tc.problem)) {
			t.Errorf("%s: exit code %d, ran %v: %s", tc.args, status, ran, stderr.String())
		}
	}
}
