package commitmessage

import (
	"regexp"
	"strconv"
)

// The keys of the trailers.
const (
	Source   = "Polex-Source-Commit" // the commit with the pending exceptions
	LogIndex = "Polex-Log-Index"     // transparency log entry of a signed document
	Replaces = "Polex-Replaces"      // a replaced signed file and its log entries
	Pruned   = "Polex-Pruned"        // a file with removed expired documents, and their log entries
)

var plainPath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// Path returns a path in the form for a commit message. It quotes unusual paths: a file name can
// contain line breaks and could forge trailers.
func Path(name string) string {
	if plainPath.MatchString(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}
