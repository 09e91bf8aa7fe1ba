// Command index holds Rekor's search index in memory, by the protocol of Redis.
// Nothing of a seal rests on the index: kubectl-sigstore searches it for what it
// has uploaded.
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
	select {} // until it is ended
}
