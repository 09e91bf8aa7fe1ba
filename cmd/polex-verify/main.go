// Command polex-verify says whether exceptions are sealed by someone that is
// trusted, unchanged and unexpired. It uses no network and writes nothing.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/verify"
)

func main() { cli.Main(verify.New) }
