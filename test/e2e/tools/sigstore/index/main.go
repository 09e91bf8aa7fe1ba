// Command index is Rekor's search index in memory, with the protocol of Redis. Only
// kubectl-sigstore uses the index: it searches for its uploads.
package main

import (
	"log"
	"os"

	"github.com/alicebob/miniredis/v2"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: index ADDRESS")
	}
	if err := miniredis.NewMiniRedis().StartAddr(os.Args[1]); err != nil {
		log.Fatal(err)
	}
	select {} // until it is killed
}
