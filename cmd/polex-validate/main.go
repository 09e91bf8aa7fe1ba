// Command polex-validate says whether exceptions are well shaped: narrow,
// bounded in time and accounted for. It uses no network and writes nothing.
package main

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/validate"
)

func main() { cli.Main(validate.New) }
