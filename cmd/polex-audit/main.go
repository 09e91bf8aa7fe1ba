// Command polex-audit tells what became of every exception: who asked, who approved,
// what was signed and when, until when it counts, and how it left.
package main

import (
	"github.com/polex-dev/polex/internal/command/audit"
	"github.com/polex-dev/polex/internal/command/cli"
)

func main() { cli.Main(audit.New) }
