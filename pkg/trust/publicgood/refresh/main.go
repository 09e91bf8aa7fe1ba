package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sigstore/sigstore-go/pkg/tuf"
)

func main() {
	if err := run(filepath.Join("pkg", "trust", "publicgood"), time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "refresh: error:", err)
		os.Exit(1)
	}
}

// run fetches the trusted root and writes it into dir, dated now.
func run(dir string, now time.Time) error {
	client, err := tuf.New(tuf.DefaultOptions().WithDisableLocalCache())
	if err != nil {
		return fmt.Errorf("refresh TUF metadata: %w", err)
	}
	data, err := client.GetTarget("trusted_root.json")
	if err != nil {
		return fmt.Errorf("fetch trusted_root.json: %w", err)
	}
	changed, err := update(dir, fetched{json: data, source: tuf.DefaultMirror + ", target trusted_root.json", at: now})
	if err != nil {
		return err
	}
	if changed {
		fmt.Fprintln(os.Stdout, "trusted_root.json is new: read the difference before you commit it")
	} else {
		fmt.Fprintln(os.Stdout, "trusted_root.json is up to date")
	}
	return nil
}
