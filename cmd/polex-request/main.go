// Command polex-request drafts the narrowest exception for a violation. It reads files, or the API
// server with --from cluster. It changes only the folder or branch of the drafts.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/request"
)

func main() { cli.Main(request.New) }
