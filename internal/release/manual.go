package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/polex"
)

// manual writes the man pages and the completions of polex to a folder, and returns them as files
// of an archive. The page of "polex verify" is polex-verify(1), which is that program too.
func manual(dir, version string, when time.Time) ([]entry, error) {
	root := polex.Named("polex")(cli.Streams{})
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	for _, sub := range []string{"man", "completions"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o750); err != nil {
			return nil, err
		}
	}
	utc := when.UTC()
	header := &doc.GenManHeader{Section: "1", Date: &utc, Source: "polex " + version, Manual: "polex"}
	if err := doc.GenManTree(root, header, filepath.Join(dir, "man")); err != nil {
		return nil, fmt.Errorf("write man pages: %w", err)
	}
	for name, generate := range map[string]func(string) error{
		"polex.bash": func(path string) error { return root.GenBashCompletionFileV2(path, true) },
		"_polex":     root.GenZshCompletionFile,
		"polex.fish": func(path string) error { return root.GenFishCompletionFile(path, true) },
		"polex.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := generate(filepath.Join(dir, "completions", name)); err != nil {
			return nil, fmt.Errorf("write completions: %w", err)
		}
	}
	var files []entry
	for _, pattern := range []string{"completions/*", "man/*.1"} {
		paths, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return nil, err
			}
			files = append(files, entry{filepath.ToSlash(name), path, 0o644})
		}
	}
	return files, nil
}
