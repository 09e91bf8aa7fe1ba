package pending

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Folders are the two folders of a promotion, relative to the root of the repository, with slashes.
// "" means unsigned and signed.
type Folders struct{ Unsigned, Signed string }

// Complete returns the folders as clean paths. It returns an error for a folder outside the
// repository, and for folders that contain each other.
func (f Folders) Complete() (Folders, error) {
	if f.Unsigned == "" {
		f.Unsigned = "unsigned"
	}
	if f.Signed == "" {
		f.Signed = "signed"
	}
	for _, dir := range []*string{&f.Unsigned, &f.Signed} {
		clean := path.Clean(*dir)
		if !fs.ValidPath(clean) || clean == "." || strings.EqualFold(clean, ".git") ||
			strings.HasPrefix(strings.ToLower(clean), ".git/") {
			return f, fmt.Errorf("folder %q is outside of the repository", *dir)
		}
		*dir = clean
	}
	if f.Unsigned == f.Signed || strings.HasPrefix(f.Unsigned+"/", f.Signed+"/") ||
		strings.HasPrefix(f.Signed+"/", f.Unsigned+"/") {
		return f, fmt.Errorf("one of the folders %q and %q is inside the other", f.Unsigned, f.Signed)
	}
	return f, nil
}

// Target returns the path of a pending file after signing.
func (f Folders) Target(name string) string { return f.Signed + strings.TrimPrefix(name, f.Unsigned) }
