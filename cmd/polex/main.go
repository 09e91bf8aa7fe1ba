// Command polex contains all commands. With the name kubectl-polex it is a kubectl plugin.
package main

import (
	"os"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/polex"
)

func main() { cli.Main(polex.Named(os.Args[0])) }
