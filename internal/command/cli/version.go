package cli

import (
	"errors"
	"runtime/debug"
)

// Version is the release that the binary was built as, set by the linker.
var Version = ""

// VersionText returns the release, or the module's version when the binary was
// built with go install, or "devel".
func VersionText() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// asked is the value of --version, which ends the reading of the flags. Cobra's own
// prints by a template, and with text/template in it the linker keeps every method that
// there is: 2.6 MB of polex-validate.
type asked struct{}

var errVersion = errors.New("the version is asked for")

// String returns what help shows as the default.
func (asked) String() string { return "false" }

// Type names no value in help texts.
func (asked) Type() string { return "bool" }

// Set ends the reading of the flags.
func (asked) Set(string) error { return errVersion }
