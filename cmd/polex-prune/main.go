// Command polex-prune takes exceptions that have ended out of signed/ in one
// commit.
package main

import "github.com/polex-dev/polex/cmd/internal/cli"

func main() { cli.Main(newCommand) }
