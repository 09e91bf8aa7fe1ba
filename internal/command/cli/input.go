package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/pkg/exception"
)

// The reasons about reading input.
const (
	ReasonMalformed   = "malformed"
	ReasonUnreadable  = "unreadable"
	ReasonNoDocuments = "no-documents"
	ReasonNotRegular  = "not-a-regular-file"
)

// Reasons returns all of them.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonMalformed, Doc: "the document is not plain YAML or JSON: a duplicate key, an alias, a tag, invalid text, too deep or too large"},
		{Name: ReasonUnreadable, Doc: "a file or folder cannot be read: could not decide, exit code 3"},
		{Name: ReasonNoDocuments, Doc: "the path has no document: could not decide, exit code 3"},
		{Name: ReasonNotRegular, Doc: "in a folder, a document is a link or a special file; in a commit or with --only-exceptions, also an executable file"},
	}
}

// Inputs reads documents from paths: files, folders (every .yaml, .yml and .json file below them),
// and "-" for standard input.
type Inputs struct {
	Paths  []string
	Stdin  io.Reader
	Report *Report
	// Changed selects the files to read, if it is not nil. Other files are only counted.
	Changed func(path string) (bool, error)
	// Skip selects the files of other kinds, if it is not nil. They are only counted.
	Skip func(path string) bool
	// Large allows documents above the size limit of exceptions.
	Large bool
	// Aliases allows anchors, aliases and merge keys, for trusted files that are never signed.
	Aliases bool
	// Screen decides about every file of any name, if it is not nil: whether to read it, reject it
	// or ignore it. Then no symbolic link is followed.
	Screen func(path string, mode fs.FileMode) (read bool, refused *Result)
}

// Each calls visit for every document, in the order of the paths and of the names in a folder. It
// reports a malformed document as refused, and an I/O error or a path without documents as
// undecided. In a folder it reads only regular files, because a link can lead to unreviewed
// content.
func (in Inputs) Each(visit func(*exception.Document)) {
	for _, path := range in.Paths {
		if path == "-" {
			in.Stream(in.Stdin, "<stdin>", visit)
			continue
		}
		stat := os.Stat
		if in.Screen != nil {
			// A trailing slash would follow a link.
			stat = func(path string) (fs.FileInfo, error) { return os.Lstat(filepath.Clean(path)) }
		}
		info, err := stat(path)
		switch {
		case err != nil:
			in.unreadable(path, err)
		case info.IsDir():
			in.folder(path, visit)
		case in.Screen != nil:
			in.Screened(path, info.Mode(), func() { in.file(path, visit) })
		default:
			in.file(path, visit)
		}
	}
}

func (in Inputs) folder(dir string, visit func(*exception.Document)) {
	found := false
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			in.unreadable(path, err)
			found = true
			return nil
		case entry.IsDir():
			if entry.Name() == ".git" && in.Screen == nil {
				return fs.SkipDir
			}
			return nil
		case in.Screen != nil:
			info, err := entry.Info()
			if err != nil {
				in.unreadable(path, err)
				found = true
				return nil
			}
			found = in.Screened(path, info.Mode(), func() { in.file(path, visit) }) || found
			return nil
		case !exception.HoldsDocuments(path):
			if entry.Type()&fs.ModeSymlink == 0 {
				return nil
			}
			if target, err := os.Stat(path); err == nil && !target.IsDir() {
				return nil
			}
		}
		found = true
		if !entry.Type().IsRegular() {
			in.Report.Add(Result{Outcome: Refuse, File: path, Reason: ReasonNotRegular,
				Message: "this is a link or a special file, and only regular files are read in a folder",
				Hint:    "put the file itself here, or name it on the command line"})
			return nil
		}
		in.file(path, visit)
		return nil
	})
	if err != nil {
		in.unreadable(dir, err)
		return
	}
	if !found && in.Report.Idle == "" {
		in.Report.Add(Result{Outcome: Unknown, File: dir, Reason: ReasonNoDocuments,
			Message: "there is no .yaml, .yml or .json file in this folder"})
	}
}

// Screened reads or rejects a file as Screen decides, and reports whether it did one of them.
func (in Inputs) Screened(path string, mode fs.FileMode, read func()) bool {
	is, refused := in.Screen(path, mode)
	switch {
	case refused != nil:
		in.Report.Add(*refused)
	case is:
		read()
	}
	return is || refused != nil
}

func (in Inputs) file(path string, visit func(*exception.Document)) {
	if in.Changed != nil {
		changed, err := in.Changed(path)
		if err != nil {
			in.unreadable(path, err)
			return
		}
		if !changed {
			in.Report.Unchanged++
			return
		}
	}
	if in.Skip != nil && in.Skip(path) {
		in.Report.Skipped++
		return
	}
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		in.unreadable(path, err)
		return
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if in.Report.read == nil {
			in.Report.read = map[string]fs.FileInfo{}
		}
		in.Report.read[path] = info
	}
	in.Stream(f, path, visit)
}

// Whole reads a single path with exactly one document, and returns the document and all bytes.
// Otherwise it adds a result to the report, as Each does, and returns nil.
func (in Inputs) Whole() (doc *exception.Document, source []byte) {
	r, name := in.Stdin, "<stdin>"
	if path := in.Paths[0]; path != "-" {
		f, err := os.Open(path) // #nosec G304 -- the user names the file
		if err != nil {
			in.unreadable(path, err)
			return nil, nil
		}
		defer f.Close() //nolint:errcheck // only read
		r, name = f, path
	}
	source, err := io.ReadAll(io.LimitReader(r, exception.MaxDocument+1))
	if err != nil {
		in.unreadable(name, err)
		return nil, nil
	}
	if len(source) > exception.MaxDocument {
		in.Report.Documents++
		in.Report.Add(Malformed(&exception.SyntaxError{Position: exception.Position{File: name, Line: 1, Column: 1},
			Message: fmt.Sprintf("the file is larger than %d KiB", exception.MaxDocument>>10)}))
		return nil, nil
	}
	refused := in.Report.Count(Refuse)
	var docs []*exception.Document
	in.Stream(bytes.NewReader(source), name, func(doc *exception.Document) { docs = append(docs, doc) })
	switch {
	case len(docs) > 1:
		in.Report.Add(Malformed(&exception.SyntaxError{Position: docs[1].Position(), Message: "a second document begins here, and only one is expected"}))
		return nil, nil
	case len(docs) == 0 || in.Report.Count(Refuse) > refused:
		return nil, nil
	}
	return docs[0], source
}

// Stream calls visit for every document of r. It reports problems as [Inputs.Each] does for a file
// called name.
func (in Inputs) Stream(r io.Reader, name string, visit func(*exception.Document)) {
	reader := exception.NewReader(r, name)
	if in.Large {
		reader.Large()
	}
	if in.Aliases {
		reader.Aliases()
	}
	found := false
	for doc, err := range reader.All() {
		found = true
		var syntax *exception.SyntaxError
		switch {
		case err == nil:
			in.Report.Documents++
			visit(doc)
		case errors.As(err, &syntax):
			in.Report.Documents++
			in.Report.Add(Malformed(syntax))
		default:
			in.unreadable(name, err)
		}
	}
	if !found {
		in.Report.Add(Result{Outcome: Unknown, File: name, Reason: ReasonNoDocuments, Message: "there is no document in it"})
	}
}

// Malformed makes the result for a document that cannot be parsed unambiguously.
func Malformed(err *exception.SyntaxError) Result {
	return Result{Outcome: Refuse, File: err.Position.File, Line: err.Position.Line, Column: err.Position.Column,
		Reason: ReasonMalformed, Message: err.Message, Hint: err.Hint}
}

func (in Inputs) unreadable(path string, err error) {
	// The result names the path already.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	in.Report.Add(Result{Outcome: Unknown, File: path, Reason: ReasonUnreadable, Message: err.Error()})
}

// AtLeastOnePath is the argument check of a command that reads documents.
func AtLeastOnePath(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return &UsageError{Err: errors.New("no path is given"), Hint: fmt.Sprintf("name files or folders, or - for standard input; see %s --help", cmd.CommandPath())}
	}
	return nil
}

// NoPath is the argument check of a command that accepts no paths.
func NoPath(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if err := Misspelt(cmd, args); err != nil {
			return err
		}
		return &UsageError{Err: fmt.Errorf("%s accepts no path: %q", cmd.CommandPath(), args[0]), Hint: cmd.CommandPath() + " --help says what it reads"}
	}
	return nil
}
