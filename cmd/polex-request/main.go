// Command polex-request drafts the narrowest exception that answers a violation.
// It reads files, or with --cluster the API server, and changes nothing but the
// folder or the branch that it writes drafts to.
package main

import "github.com/polex-dev/polex/cmd/internal/cli"

func main() { cli.Main(newCommand) }
