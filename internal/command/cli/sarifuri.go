package cli

import (
	"net/url"
	"path/filepath"
)

// sarifURI writes a path as the relative reference that SARIF asks for.
func sarifURI(path string) string {
	return (&url.URL{Path: filepath.ToSlash(path)}).String()
}
