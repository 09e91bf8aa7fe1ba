package cli

import (
	"fmt"
	"os"
	"path/filepath"
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
	said   string // by the user
	path   string
	info   os.FileInfo // nil if it does not exist
	folder os.FileInfo // that contains it
	within bool        // as a folder, it stands for all documents in it
}

func placeOf(said, path string, within bool) place {
	p := place{said: said, path: path, within: within}
	p.info, _ = os.Stat(path)
	p.folder, _ = os.Stat(filepath.Dir(strings.TrimRight(path, "/")))
	return p
}

// is reports whether two places are the same file, by any name. Names that differ only in case are the
// same file on some systems.
func (p place) is(q place) bool {
	if p.info != nil && q.info != nil {
		return p.info.Mode().IsRegular() && os.SameFile(p.info, q.info)
	}
	return p.info == nil && q.info == nil && p.folder != nil && q.folder != nil && os.SameFile(p.folder, q.folder) &&
		strings.EqualFold(filepath.Base(p.path), filepath.Base(q.path))
}

// in reports whether p is an existing document in the folder q.
func (p place) in(q place) bool {
	if !q.within || p.info == nil || q.info == nil || !q.info.IsDir() || !exception.HoldsDocuments(p.path) {
		return false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(p.path))
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	for ; err == nil; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, q.info) {
			return true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return false
}

// checkOutputs rejects an output that would replace an input, the configuration, a file that the
// configuration names, or another output. reports are the paths of --report.
func checkOutputs(cmd *cobra.Command, args, reports []string) error {
	var outputs, inputs, sources []place
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
	if cfg, err := config.LoadRepository(flagValue(cmd, "config")); err == nil {
		inputs, sources = append(inputs, configured(cfg)...), foldersOf(cfg)
	}
	for i, out := range outputs {
		switch {
		case out.folder == nil || !out.folder.IsDir():
			return Hint(fmt.Errorf("write %s: the folder %s does not exist", out.path, filepath.Dir(out.path)),
				"create the folder, or name another file")
		case out.info != nil && out.info.IsDir():
			return fmt.Errorf("write %s: it is a folder: name a file", out.path)
		}
		if strings.EqualFold(filepath.Base(out.path), config.Name) {
			return replaces(out, "the configuration")
		}
		for _, in := range append(inputs, outputs[:i]...) {
			if out.is(in) || out.in(in) {
				return replaces(out, in.said)
			}
		}
		for _, folder := range sources {
			if i < len(reports) && out.in(folder) {
				return replaces(out, "a file of "+folder.said)
			}
		}
	}
	return nil
}

func flagValue(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// configured returns the configuration and the files that its trust policy names.
func configured(cfg *config.Config) []place {
	all := []place{placeOf("the configuration", cfg.Document().File(), false)}
	written, _, err := cfg.Trust()
	if err != nil {
		return all // the command reports it
	}
	for _, path := range written.Files() {
		all = append(all, placeOf("a file of the trust policy", path, false))
	}
	return all
}

// foldersOf returns the folders of documents in the configuration.
func foldersOf(cfg *config.Config) (all []place) {
	d := cfg.Directories
	for _, folder := range []string{d.Unsigned, d.Signed, d.Policies} {
		if folder != "" {
			all = append(all, placeOf(folder, filepath.Join(cfg.Dir, folder), true))
		}
	}
	return all
}

func replaces(out place, what string) error {
	return &UsageError{Err: fmt.Errorf("%s would replace %s", out.said, what), Hint: "name another file"}
}
