// Command polex-sandbox runs a whole Sigstore on loopback, for trials and tests.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/sandbox"
)

func main() { cli.Main(sandbox.New) }
