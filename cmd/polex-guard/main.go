// Command polex-guard refuses what was not signed in the cluster: it answers the
// API server's admission reviews, looks again at what is stored, and ends what has
// expired.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/guard"
)

func main() { cli.Main(guard.New) }
