// Command polex-sign seals exceptions with the identity of whoever runs it, and
// promotes them from unsigned/ to signed/.
package main

import "github.com/polex-dev/polex/cmd/internal/cli"

func main() { cli.Main(newCommand) }
