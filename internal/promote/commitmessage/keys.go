package commitmessage

import (
	"regexp"
	"strconv"
)

// The keys of the trailers.
const (
	Source   = "Polex-Source-Commit" // the commit that the queue was read from
	LogIndex = "Polex-Log-Index"     // where the log has what was signed
	Replaces = "Polex-Replaces"      // a signed file that went, and where the log has it
	Pruned   = "Polex-Pruned"        // a file that lost what had expired, and where the log has that
)

var plainPath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// Path is a path as it stands in a commit's message: quoted, unless it is a plain
// one, for a name can hold lines of its own.
func Path(name string) string {
	if plainPath.MatchString(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}
