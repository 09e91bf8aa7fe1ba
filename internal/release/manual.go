package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/polex"
)

// manual writes the man pages and the completions of polex to a folder, and returns them as files
// of an archive. The page of "polex verify" is polex-verify(1), which is that program too.
func manual(dir, version string, when time.Time) []entry {
	root := polex.Named("polex")(cli.Streams{})
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	pages, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	check(os.MkdirAll(pages, 0o750))
	check(os.MkdirAll(completions, 0o750))
	utc := when.UTC()
	check(doc.GenManTree(root,
		&doc.GenManHeader{Section: "1", Date: &utc, Source: "polex " + version, Manual: "polex"}, pages))
	check(root.GenBashCompletionFileV2(filepath.Join(completions, "polex.bash"), true))
	check(root.GenZshCompletionFile(filepath.Join(completions, "_polex")))
	check(root.GenFishCompletionFile(filepath.Join(completions, "polex.fish"), true))
	check(root.GenPowerShellCompletionFileWithDesc(filepath.Join(completions, "polex.ps1")))
	return tree(dir, "")
}
