package pending

import (
	"fmt"
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

// File is a tree entry that is not a folder. Its path is relative to the root of the repository.
type File struct {
	Path string
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

// CheckFile rejects a file with a mode or a name that a request must not have.
func CheckFile(f File) *exception.Refusal {
	at := exception.Position{File: f.Path}
	switch f.Mode {
	case Regular:
	case Executable:
		return &exception.Refusal{Position: at, Reason: ReasonNotRegular, Message: "the file is executable, and only regular files (mode 100644) are signed",
			Hint: "remove the executable bit: git update-index --chmod=-x, or chmod -x and git add"}
	case Symlink:
		return &exception.Refusal{Position: at, Reason: ReasonNotRegular, Message: "it is a symbolic link, and only regular files (mode 100644) are signed", Hint: "put the file itself here"}
	case Submodule:
		return &exception.Refusal{Position: at, Reason: ReasonNotRegular, Message: "it is a submodule, and only regular files (mode 100644) are signed", Hint: "put the files themselves here"}
	default:
		return &exception.Refusal{Position: at, Reason: ReasonNotRegular, Message: fmt.Sprintf("its mode is %o, and only regular files (mode 100644) are signed", f.Mode)}
	}
	for part := range strings.SplitSeq(f.Path, "/") {
		if !plainName.MatchString(part) {
			return badName(at, fmt.Sprintf("the name %q has characters that the name of an exception's file or folder may not have", part))
		}
	}
	if !exception.HoldsDocuments(f.Path) {
		return badName(at, fmt.Sprintf("the name %q does not end in .yaml, .yml or .json in lower case", path.Base(f.Path)))
	}
	return nil
}

func badName(at exception.Position, message string) *exception.Refusal {
	return &exception.Refusal{Position: at, Reason: ReasonBadName, Message: message,
		Hint: "use letters, digits, dots, dashes and underscores, begin with a letter or digit, and end in .yaml, .yml or .json; notes go into .md files"}
}
