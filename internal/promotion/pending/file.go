package pending

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
)

// The octal modes of tree entries in Git.
const (
	Regular    = 0o100644
	Executable = 0o100755
	Symlink    = 0o120000
	Submodule  = 0o160000
)

// The limits of a pending file and of the signed file that promotion makes of it.
const (
	// MaxPath is the maximum length of a path in bytes. macOS allows no longer ones.
	MaxPath = 1024
	// MaxFolders is the maximum number of folders in a path.
	MaxFolders = 63
	// MaxFile is the maximum size of a file in bytes.
	MaxFile = 32 << 20
	// evidence is the usual size in bytes of the certificate, the signature and the log entry of a
	// document.
	evidence = 14 << 10
)

// File is a tree entry that is not a folder. Its paths are relative to the root of the repository.
type File struct {
	Path string
	To   string // the path of the signed file, or "" if it is not known
	Mode uint32
}

// Waits reports whether a file of the pending folder must be a request. Notes (*.md), .gitkeep,
// .gitignore and .gitattributes are not requests and stay in the folder.
func Waits(name string) bool {
	switch path.Base(name) {
	case ".gitkeep", ".gitignore", ".gitattributes":
		return false
	}
	return !strings.EqualFold(path.Ext(name), ".md")
}

// Signs reports whether a file of the signed folder can hold exceptions, by its mode and name. It
// accepts more than [CheckFile]: a deployment tool also reads executable files.
func Signs(f File) bool {
	return (f.Mode == Regular || f.Mode == Executable) && exception.HoldsDocuments(strings.ToLower(f.Path))
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// notRegular are the other modes that Git writes, and what to do.
var notRegular = map[uint32]struct{ what, hint string }{
	Executable: {"the file is executable",
		"remove the executable bit: git update-index --chmod=-x, or chmod -x and git add"},
	Symlink:   {"it is a symbolic link", "put the file itself here"},
	Submodule: {"it is a submodule", "put the files themselves here"},
}

// CheckFile rejects a file with a mode or a name that a request must not have.
func CheckFile(f File) *exception.Refusal {
	at := exception.Position{File: f.Path}
	for _, name := range []string{f.Path, f.To} {
		if folders := strings.Count(name, "/"); len(name) > MaxPath || folders > MaxFolders {
			return &exception.Refusal{Position: at, Reason: ReasonBadName, Hint: "choose a shorter path",
				Message: fmt.Sprintf("the path %.40s... has %d bytes and %d folders, and the maximum is %d bytes and "+
					"%d folders",
					name, len(name), folders, MaxPath, MaxFolders)}
		}
	}
	if f.Mode != Regular {
		other := notRegular[f.Mode]
		return &exception.Refusal{Position: at, Reason: ReasonNotRegular, Hint: other.hint, Message: cmp.Or(other.what,
			fmt.Sprintf("its mode is %o", f.Mode)) + ", and only regular files (mode 100644) are signed"}
	}
	for part := range strings.SplitSeq(f.Path, "/") {
		if !plainName.MatchString(part) {
			return badName(at, fmt.Sprintf("the name %q has characters that the name of an exception's file or "+
				"folder may not have", part))
		}
	}
	if !exception.HoldsDocuments(f.Path) {
		return badName(at, fmt.Sprintf("the name %q does not end in .yaml, .yml or .json in lower case",
			path.Base(f.Path)))
	}
	return nil
}

// CheckSize rejects a file of size bytes if it, or its signed form, is larger than polex reads. The
// signed form also holds the message, in base64, and the evidence of each document.
func CheckSize(name string, size int64, documents int) *exception.Refusal {
	if size <= MaxFile && 7*size/3+int64(documents)*evidence <= MaxFile {
		return nil
	}
	return &exception.Refusal{Position: exception.Position{File: name}, Reason: ReasonTooLarge,
		Message: fmt.Sprintf("it has %d bytes, and its signed form has more than %d MiB", size, MaxFile>>20),
		Hint:    "give each document its own file: yq -s"}
}

func badName(at exception.Position, message string) *exception.Refusal {
	return &exception.Refusal{Position: at, Reason: ReasonBadName, Message: message,
		Hint: "use letters, digits, dots, dashes and underscores, begin with a letter or digit, and end in .yaml, " +
			".yml or .json; notes go into .md files"}
}

// Folders are the two folders of a promotion, relative to the root of the repository, with slashes.
// "" means unsigned and signed.
type Folders struct{ Unsigned, Signed string }

// Complete returns the folders as clean paths. It returns an error for a folder outside the
// repository, and for folders that contain each other.
func (f Folders) Complete() (Folders, error) {
	f.Unsigned = cmp.Or(f.Unsigned, "unsigned")
	f.Signed = cmp.Or(f.Signed, "signed")
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

// The reasons to reject a pending file.
const (
	ReasonBadName        = "bad-file-name"
	ReasonNotRegular     = "not-a-regular-file"
	ReasonTooLarge       = "too-large"
	ReasonNoDocuments    = "no-documents"
	ReasonTargetExists   = "target-exists"
	ReasonAlreadySigned  = "already-signed"
	ReasonPartlyReplaced = "partly-replaced"
	ReasonNotARenewal    = "not-a-renewal"
)

// Reasons returns all of them.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonBadName, Doc: "the name of the file is not one that a signed file can have"},
		{Name: ReasonNotRegular, Doc: "only regular files (mode 100644) are signed"},
		{Name: ReasonTooLarge, Doc: "the file, or its signed form, is larger than polex reads"},
		{Name: ReasonNoDocuments, Doc: "the file holds no document"},
		{Name: ReasonTargetExists, Doc: "another file has the name that the signed file would have"},
		{Name: ReasonAlreadySigned, Doc: "the signed folder holds an exception of this name already, or held it " +
			"before and the exception is grandfathered"},
		{Name: ReasonPartlyReplaced,
			Doc: "the file would replace some exceptions of a signed file, and not all of them"},
		{Name: ReasonNotARenewal, Doc: "it states that it renews another exception, and does not"},
	}
}
