package cli

import (
	"net/url"
	"path/filepath"
)

// sarifURI returns a path as a relative reference for SARIF.
func sarifURI(path string) string { return (&url.URL{Path: filepath.ToSlash(path)}).String() }
