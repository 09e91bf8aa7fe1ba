// Command polex-validate checks that exceptions are narrow, have an expiry and state their reason
// and owner. It uses no network and writes nothing.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/validate"
)

func main() { cli.Main(validate.New) }
