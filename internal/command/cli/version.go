package cli

import (
	"errors"
	"runtime/debug"
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

// asked is the value of --version. Cobra's own version flag uses text/template, and then the linker
// keeps every exported method: 2.6 MB of polex-validate.
type asked struct{}

var errVersion = errors.New("the version is asked for")

// String returns the default value for the help text.
func (asked) String() string { return "false" }

// Type makes the flag a switch without a value in help texts.
func (asked) Type() string { return "bool" }

// Set stops the parsing of the flags.
func (asked) Set(string) error { return errVersion }
