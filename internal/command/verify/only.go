package verify

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
)

// reasonUnexpectedFile is the reason for a file that --only-exceptions does not allow.
const reasonUnexpectedFile = "unexpected-file"

// onlySigned reports whether all paths are the folder of signed exceptions. It is empty before the
// first signature and after the last expiry. Another folder without exceptions may be misspelt.
func onlySigned(paths []string, signed string, commit bool) bool {
	return !slices.ContainsFunc(paths, func(name string) bool {
		if !commit { // Argo CD's plug-in runs in the folder
			name, _ = filepath.Abs(name)
		}
		return name != signed && (commit || !strings.HasSuffix(filepath.ToSlash(name), "/"+signed))
	})
}

// notes are the files that no deployment tool interprets.
var notes = []string{"README.md", ".gitkeep", "CODEOWNERS"}

// instructions are the file names that tools interpret, in lower case without suffix: Kustomize
// (kustomization.yaml, .yml), Helm (Chart.yaml).
var instructions = []string{"kustomization", "chart"}

const onlyHint = "this folder may hold .yaml, .yml and .json files with signed documents, and README.md, .gitkeep " +
	"and CODEOWNERS"

// screen decides with --only-exceptions whether to read a file or to reject it. It ignores a note. A tool that
// applies a folder may interpret other files in it: Kustomize, Helm, jsonnet and Argo CD each have their own. So
// every file that is not known to be harmless is rejected.
func screen(name string, mode fs.FileMode) (read bool, refused *cli.Result) {
	base := path.Base(filepath.ToSlash(name))
	refuse := func(reason, message string) (bool, *cli.Result) {
		return false, &cli.Result{Outcome: cli.Refuse, File: name, Reason: reason, Message: message, Hint: onlyHint}
	}
	switch {
	case !mode.IsRegular():
		return refuse(cli.ReasonNotRegular,
			"this is a link, a submodule or a special file, and --only-exceptions allows regular files only")
	case slices.Contains(notes, base):
		return false, nil
	case !exception.HoldsDocuments(base) || strings.HasPrefix(base, "."):
		return refuse(reasonUnexpectedFile,
			"this is not a file of signed documents, and tools that apply the folder may follow its instructions")
	case slices.Contains(instructions, strings.ToLower(strings.TrimSuffix(base, path.Ext(base)))):
		return refuse(reasonUnexpectedFile, "tools that apply the folder read instructions from a file of this name")
	case !utf8.ValidString(name):
		return refuse(cli.ReasonNotRegular, "the path is not UTF-8, and polex-prune does not reach such a file")
	case mode.Perm()&0o111 != 0:
		return refuse(cli.ReasonNotRegular, "this file is executable, and a promotion writes no such file")
	}
	return true, nil
}
