// Command polex-verify says whether exceptions are sealed by someone that is
// trusted, unchanged and unexpired. It uses no network and writes nothing.
package main

import "github.com/polex-dev/polex/cmd/internal/cli"

func main() { cli.Main(newCommand) }
