// Command polex-sign signs exceptions with the identity of its caller, and moves them from
// unsigned/ to signed/.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/sign"
)

func main() { cli.Main(sign.New) }
