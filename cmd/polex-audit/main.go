// Command polex-audit reports the history of every exception: the requester, the approvers, the
// signature, the expiry and the removal.
package main

import (
	"github.com/polex-dev/polex/internal/command/audit"
	"github.com/polex-dev/polex/internal/command/cli"
)

func main() { cli.Main(audit.New) }
