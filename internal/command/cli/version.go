package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the release of the binary. The linker sets it.
var Version = ""

// VersionText returns the release, the module version of a binary from go install, or "devel".
func VersionText() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// setVersion gives a program the flag --version and the command version. Cobra's own flag
// prints by a template, and with text/template the linker keeps every method: 2.6 MB.
func setVersion(root *cobra.Command, w io.Writer) {
	root.Flags().VarPF(versionFlag{}, "version", "v", "print the version").NoOptDefVal = "true"
	if root.Args == nil {
		root.Args = cobra.ArbitraryArgs // with a subcommand, cobra would reject paths
	}
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Long: "Print the version.", Args: NoPath,
		RunE: func(*cobra.Command, []string) error { writeVersion(w, root); return nil },
	})
}

func writeVersion(w io.Writer, root *cobra.Command) {
	_, _ = fmt.Fprintf(w, "%s %s\n", root.Name(), VersionText())
}

var errVersion = errors.New("--version")

// versionFlag ends the reading of the flags with errVersion.
type versionFlag struct{}

// String returns the default that help shows.
func (versionFlag) String() string { return "false" }

// Type makes the flag a switch without a value in help texts.
func (versionFlag) Type() string { return "bool" }

// Set ends the reading of the flags.
func (versionFlag) Set(string) error { return errVersion }
