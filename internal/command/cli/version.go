package cli

import "runtime/debug"

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
