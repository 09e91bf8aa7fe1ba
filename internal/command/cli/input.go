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

// Reasons that belong to reading and not to any one check.
const (
	ReasonMalformed   = "malformed"
	ReasonUnreadable  = "unreadable"
	ReasonNoDocuments = "no-documents"
	ReasonNotRegular  = "not-a-regular-file"
)

// Reasons are those.
func Reasons() []exception.Reason {
	return []exception.Reason{
		{Name: ReasonMalformed, Doc: "the document is not plain YAML or JSON: a duplicate key, an alias, a tag, invalid text, too deep or too large"},
		{Name: ReasonUnreadable, Doc: "a file or folder cannot be read: could not decide, exit code 3"},
		{Name: ReasonNoDocuments, Doc: "the path has no document: could not decide, exit code 3"},
		{Name: ReasonNotRegular, Doc: "in a folder, a document is a link or a special file; in a commit or with --only-exceptions, also an executable file"},
	}
}

// Inputs reads documents from paths: files, folders (every .yaml, .yml and
// .json below them) and "-" for standard input.
type Inputs struct {
	Paths  []string
	Stdin  io.Reader
	Report *Report
	// Changed, where it is set, says which files are looked at. The others are
	// counted on the report and not read.
	Changed func(path string) (bool, error)
	// Skip, where it is set, says which files are of other kinds. They are counted on the
	// report.
	Skip func(path string) bool
	// Large takes documents that are larger than any that is judged.
	Large bool
	// Aliases takes anchors, aliases and merge keys, in trusted files that are never signed.
	Aliases bool
	// Screen, where it is set, says of every file whatever its name whether it is read, or
	// why it is refused, or neither. No link is followed then.
	Screen func(path string, mode fs.FileMode) (read bool, refused *Result)
}

// Each calls visit for every document, in the order of the paths and, within a
// folder, of the names. What cannot be read is put on the report: a malformed
// document as refused, an I/O error or a path without any document as
// undecided. In a folder only regular files are read: a link could lead out of
// what was reviewed.
func (in Inputs) Each(visit func(*exception.Document)) {
	for _, path := range in.Paths {
		if path == "-" {
			in.Stream(in.Stdin, "<stdin>", visit)
			continue
		}
		stat := os.Stat
		if in.Screen != nil {
			// A slash at the end would follow a link.
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

// Screened reads a file as the Screen says, and reports whether there was anything to say
// of it, or to read in it.
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
	f, err := os.Open(path) // #nosec G304 -- the user names what is read
	if err != nil {
		in.unreadable(path, err)
		return
	}
	defer f.Close() //nolint:errcheck // only read
	if in.Report.read == nil {
		in.Report.read = map[string]bool{}
	}
	in.Report.read[path] = true
	in.Stream(f, path, visit)
}

// Whole reads the one document of the one path, and every byte that the path
// holds. What is not exactly one document is put on the report as Each does, and
// nil is returned.
func (in Inputs) Whole() (doc *exception.Document, source []byte) {
	r, name := in.Stdin, "<stdin>"
	if path := in.Paths[0]; path != "-" {
		f, err := os.Open(path) // #nosec G304 -- the user names what is read
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

// Stream calls visit for every document that r holds. It puts the same on the
// report as [Inputs.Each] does for a file called name.
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

// Malformed is the result for a document that cannot be read without guessing.
func Malformed(err *exception.SyntaxError) Result {
	return Result{Outcome: Refuse, File: err.Position.File, Line: err.Position.Line, Column: err.Position.Column,
		Reason: ReasonMalformed, Message: err.Message, Hint: err.Hint}
}

func (in Inputs) unreadable(path string, err error) {
	// The path is named by the result already.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = fmt.Errorf("%s: %w", pathErr.Op, pathErr.Err)
	}
	in.Report.Add(Result{Outcome: Unknown, File: path, Reason: ReasonUnreadable, Message: err.Error()})
}

// AtLeastOnePath is the argument check of a command that reads documents.
func AtLeastOnePath(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return &UsageError{Err: errors.New("no path is given"), Hint: fmt.Sprintf("name files or folders, or - for standard input; %s --help says more", cmd.CommandPath())}
	}
	return nil
}

// NoPath is the argument check of a command that knows by itself what it reads.
func NoPath(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &UsageError{Err: fmt.Errorf("%s takes no path, and %q is one", cmd.CommandPath(), args[0]), Hint: cmd.CommandPath() + " --help says what it reads"}
	}
	return nil
}
