// Command polex-sign seals exceptions with the identity of whoever runs it, and
// promotes them from unsigned/ to signed/.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/sign"
)

func main() { cli.Main(sign.New) }
