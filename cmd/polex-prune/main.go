// Command polex-prune removes expired exceptions from signed/ in one commit.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/prune"
)

func main() { cli.Main(prune.New) }
