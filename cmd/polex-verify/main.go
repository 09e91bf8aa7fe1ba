// Command polex-verify checks that exceptions have a trusted signer, are unchanged and have not
// expired. It uses no network and writes nothing.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/verify"
)

func main() { cli.Main(verify.New) }
