// Command polex is all commands in one, for people. Named kubectl-polex it is a plugin
// of kubectl.
package main

import (
	"os"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/polex"
)

func main() { cli.Main(polex.Named(os.Args[0])) }
