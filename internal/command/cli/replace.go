package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/pkg/exception"
)

// writes is the annotation of a flag that names a file to write.
const writes = "polex_writes"

// Writes marks flags that name a file to write. A command with the flags of [AddOutputFlags] rejects
// such a file before any work if it is an input, the configuration or another output.
func Writes(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = flags.SetAnnotation(name, writes, nil)
	}
}

// place is a file or folder on the command line or in the configuration. It may not exist.
type place struct {
	said string      // by the user
	path string      // absolute and without links, or "" if its folder does not exist
	info os.FileInfo // nil if it does not exist
	// within means that a folder stands for the documents in it.
	within bool
}

func placeOf(said, path string, within bool) place {
	p := place{said: said, within: within}
	p.info, _ = os.Stat(path)
	whole, err := filepath.EvalSymlinks(path)
	if err != nil {
		path = strings.TrimRight(path, "/")
		if whole, err = filepath.EvalSymlinks(filepath.Dir(path)); err != nil {
			return p
		}
		if folder, err := os.Stat(whole); err != nil || !folder.IsDir() {
			return p
		}
		whole = filepath.Join(whole, filepath.Base(path))
	}
	p.path, _ = filepath.Abs(whole) // fails only without a working directory
	return p
}

// is reports whether an output is a file, by any name, or an existing document in a folder. Names that differ only in
// case are the same file on some systems.
func (p place) is(q place) bool {
	if p.info == nil || q.info == nil {
		return p.info == q.info && p.path != "" && strings.EqualFold(p.path, q.path)
	}
	if !q.info.IsDir() {
		return p.info.Mode().IsRegular() && os.SameFile(p.info, q.info)
	}
	folder := strings.TrimSuffix(q.path, "/") + "/"
	return q.within && exception.HoldsDocuments(p.path) && len(p.path) > len(folder) &&
		strings.EqualFold(p.path[:len(folder)], folder)
}

// checkOutputs rejects an output that would replace an input, the configuration, a file that the
// configuration names, or another output. reports are the paths of --report.
func checkOutputs(cmd *cobra.Command, args, reports []string) error {
	var outputs, inputs []place
	for _, path := range reports {
		outputs = append(outputs, placeOf("--report "+path, path, false))
	}
	for _, path := range args {
		inputs = append(inputs, placeOf("the input "+path, path, true))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		_, output := f.Annotations[writes]
		list, several := f.Value.(pflag.SliceValue)
		switch said := "--" + f.Name + " "; {
		case output:
			outputs = append(outputs, placeOf(said+f.Value.String(), f.Value.String(), false))
		case several:
			for _, path := range list.GetSlice() {
				inputs = append(inputs, placeOf(said+path, path, true))
			}
		case f.Value.Type() == "string":
			inputs = append(inputs, placeOf(said+f.Value.String(), f.Value.String(), false))
		}
	})
	if len(outputs) == 0 {
		return nil
	}
	files, folders := configured(cmd)
	for i, out := range outputs {
		_, path, _ := strings.Cut(out.said, " ")
		switch {
		case out.path == "":
			return Hint(fmt.Errorf("write %s: the folder %s does not exist", path, filepath.Dir(path)),
				"create the folder, or name another file")
		case out.info != nil && out.info.IsDir():
			return fmt.Errorf("write %s: it is a folder: name a file", path)
		}
		others := slices.Concat(inputs, files, outputs[:i])
		if i < len(reports) {
			others = append(others, folders...) // signed documents are an output
		}
		if at := slices.IndexFunc(others, out.is); at >= 0 || strings.EqualFold(filepath.Base(path), config.Name) {
			what := "the configuration"
			if at >= 0 {
				what = others[at].said
			}
			return UsageHint("name another file", "%s would replace %s", out.said, what)
		}
	}
	return nil
}

// configured returns the configuration and the files that its trust policy names, and its folders of documents.
func configured(cmd *cobra.Command) (files, folders []place) {
	path := ""
	if f := cmd.Flags().Lookup("config"); f != nil {
		path = f.Value.String()
	}
	cfg, err := config.LoadRepository(path)
	if err != nil {
		return nil, nil // the command reports it
	}
	files = append(files, placeOf("the configuration", cfg.Document().File(), false))
	if trusted, _, err := cfg.Trust(); err == nil {
		for _, path := range trusted.Files() {
			files = append(files, placeOf("a file of the trust policy", path, false))
		}
	}
	d := cfg.Directories
	for _, folder := range []string{d.Unsigned, d.Signed, d.Policies} {
		if folder != "" {
			folders = append(folders, placeOf("a file of "+folder, filepath.Join(cfg.Dir, folder), true))
		}
	}
	return files, folders
}
