// Command polex-guard rejects exceptions that are not signed. It answers the admission reviews of
// the API server, checks stored exceptions again, and deletes expired ones.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/guard"
)

func main() { cli.Main(guard.New) }
