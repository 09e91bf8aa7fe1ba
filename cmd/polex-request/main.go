// Command polex-request drafts the narrowest exception that answers a violation.
// It reads files, or with --cluster the API server, and changes nothing but the
// folder or the branch that it writes drafts to.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/request"
)

func main() { cli.Main(request.New) }
