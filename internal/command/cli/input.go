package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/parallel"
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
		{Name: ReasonMalformed, Doc: "the document is not plain YAML or JSON: a duplicate key, an alias, a tag, " +
			"invalid text, too deep or too large"},
		{Name: ReasonUnreadable, Doc: "a file or folder cannot be read: could not decide, exit code 3"},
		{Name: ReasonNoDocuments, Doc: "the path has no document: could not decide, exit code 3"},
		{Name: ReasonNotRegular, Doc: "in a folder, a document is a link or a special file; in a commit or with " +
			"--only-exceptions, also an executable file"},
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
	// Skip selects the files of other kinds, if it is not nil. They are only counted. Calls are
	// concurrent.
	Skip func(path string) bool
	// Large allows documents above the size limit of exceptions.
	Large bool
	// Aliases allows anchors, aliases and merge keys, for trusted files that are never signed.
	Aliases bool
	// Screen decides about every file of any name, if it is not nil: whether to read it, reject it
	// or ignore it. Then no symbolic link is followed.
	Screen func(path string, mode fs.FileMode) (read bool, refused *Result)
}

// maxAhead is the maximum size of a file that is read and parsed ahead, in bytes. A signed exception
// has about 14 KB.
const maxAhead = 64 << 10

// Each calls visit for every document, in the order of the paths and of the names in a folder. It
// reports a malformed document as refused, and an I/O error or a path without documents as
// undecided. In a folder it reads only regular files, because a link can lead to unreviewed
// content. It reads and parses small files on all cores, a few of them ahead; visit runs on the
// goroutine of the caller.
func (in Inputs) Each(visit func(*exception.Document)) {
	files := parallel.Ordered[string, *contents]{Workers: runtime.GOMAXPROCS(0), Work: in.ahead,
		Done: func(path string, c *contents) { in.contents(path, c, visit) }}
	files.Each(in.walk)
}

// walk hands over the path of every file, and "-".
func (in Inputs) walk(hand func(path string)) {
	for _, path := range in.Paths {
		if path == "-" {
			hand(path)
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
			in.folder(path, hand)
		case in.Screen != nil:
			in.Screened(path, info.Mode(), func() { in.file(path, hand) })
		default:
			in.file(path, hand)
		}
	}
}

func (in Inputs) folder(dir string, hand func(path string)) {
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
			found = in.Screened(path, info.Mode(), func() { in.file(path, hand) }) || found
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
		in.file(path, hand)
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

func (in Inputs) file(path string, hand func(path string)) {
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
	hand(path)
}

// contents is a file that was opened ahead.
type contents struct {
	skipped bool
	err     error
	file    *os.File    // of a file that is read as a stream, because it is not small
	info    fs.FileInfo // of a regular file
	parsed  []parsed    // of a small file
}

// parsed is a result of [exception.Reader.Next].
type parsed struct {
	doc *exception.Document
	err error
}

// ahead opens a file, unless it is skipped. It runs for several files in parallel.
func (in Inputs) ahead(path string) *contents {
	if path == "-" {
		return &contents{}
	}
	c := in.open(path)
	// Most files begin with an exception, and need not be read again to know that.
	first := len(c.parsed) > 0 && c.parsed[0].err == nil && c.parsed[0].doc.Text("kind") == "PolicyException"
	if in.Skip != nil && !first && in.Skip(path) {
		if c.file != nil {
			_ = c.file.Close() // nothing was written
		}
		return &contents{skipped: true}
	}
	return c
}

// open opens a file, and parses it if it is small.
func (in Inputs) open(path string) *contents {
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return &contents{err: err}
	}
	c := &contents{file: f}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		c.info = info
	}
	if c.info == nil || c.info.Size() > maxAhead {
		return c
	}
	text, err := io.ReadAll(io.LimitReader(f, maxAhead+1))
	if len(text) > maxAhead { // it has grown, or does not state its size, such as in /proc
		_, c.err = f.Seek(0, io.SeekStart)
		return c
	}
	c.file, c.err = nil, err
	_ = f.Close() // only read
	if err != nil {
		return c
	}
	for doc, err := range in.reader(bytes.NewReader(text), path).All() {
		c.parsed = append(c.parsed, parsed{doc, err})
	}
	return c
}

// contents calls visit for every document of a file that was opened ahead.
func (in Inputs) contents(path string, c *contents, visit func(*exception.Document)) {
	if c.info != nil {
		if in.Report.read == nil {
			in.Report.read = map[string]fs.FileInfo{}
		}
		in.Report.read[path] = c.info
	}
	switch {
	case path == "-":
		in.Stream(in.Stdin, "<stdin>", visit)
	case c.skipped:
		in.Report.Skipped++
	case c.err != nil:
		in.unreadable(path, c.err)
	case c.file != nil:
		in.Stream(c.file, path, visit)
		_ = c.file.Close() // only read
	default:
		in.documents(path, func(yield func(*exception.Document, error) bool) {
			for i := range c.parsed {
				if !yield(c.parsed[i].doc, c.parsed[i].err) {
					return
				}
			}
		}, visit)
	}
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
		in.Report.Add(Malformed(&exception.SyntaxError{Position: docs[1].Position(),
			Message: "a second document begins here, and only one is expected"}))
		return nil, nil
	case len(docs) == 0 || in.Report.Count(Refuse) > refused:
		return nil, nil
	}
	return docs[0], source
}

// Stream calls visit for every document of r. It reports problems as [Inputs.Each] does for a file
// called name.
func (in Inputs) Stream(r io.Reader, name string, visit func(*exception.Document)) {
	in.documents(name, in.reader(r, name).All(), visit)
}

func (in Inputs) reader(r io.Reader, name string) *exception.Reader {
	reader := exception.NewReader(r, name)
	if in.Large {
		reader.Large()
	}
	if in.Aliases {
		reader.Aliases()
	}
	return reader
}

// documents calls visit for every document of a file, and reports problems.
func (in Inputs) documents(name string, all iter.Seq2[*exception.Document, error], visit func(*exception.Document)) {
	found := false
	for doc, err := range all {
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
		in.Report.Add(Result{Outcome: Unknown, File: name, Reason: ReasonNoDocuments,
			Message: "there is no document in it"})
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
	in.Report.Add(Result{Outcome: Unknown, File: path, Reason: ReasonUnreadable, Message: err.Error(),
		Hint: nearestPath(path)})
}

// nearestPath returns a hint with the path that a misspelt path may mean, or "".
func nearestPath(path string) string {
	for dir := filepath.Dir(path); ; path, dir = dir, filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil && path != dir {
			continue // the mistake is further above
		}
		names := make([]string, 0, len(entries))
		for _, entry := range entries {
			if entry.Name() != "un"+filepath.Base(path) { // unsigned is not a misspelt signed
				names = append(names, filepath.Join(dir, entry.Name()))
			}
		}
		if _, err := os.Lstat(path); err == nil {
			return ""
		}
		return exception.Nearest(path, names)
	}
}

// AtLeastOnePath is the argument check of a command that reads documents.
func AtLeastOnePath(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && cmd.Flags().NFlag() == 0 {
		usage := strings.ReplaceAll(cmd.UseLine(), " | ", "\n       ")
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\n\nUsage: %s\n\nExamples:\n%s\n\n%s --help describes the flags.\n",
			cmd.Short, usage, cmd.Example, cmd.CommandPath())
		return StatusError(Usage)
	}
	if len(args) == 0 {
		return &UsageError{Err: errors.New("no path is given"),
			Hint: fmt.Sprintf("name files or folders, or - for standard input; see %s --help", cmd.CommandPath())}
	}
	return nil
}

// NoPath is the argument check of a command that accepts no paths.
func NoPath(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if err := Misspelt(cmd, args); err != nil {
			return err
		}
		return &UsageError{Err: fmt.Errorf("%s accepts no path: %q", cmd.CommandPath(), args[0]),
			Hint: cmd.CommandPath() + " --help says what it reads"}
	}
	return nil
}

// Room returns memory that is never used. While it is reachable, the garbage collector runs a third as
// often in a run of many small documents, which then takes about a fifth less processor time. Such a
// run needs at most its size more memory: 40 MiB.
func Room() []byte { return make([]byte, 40<<20) }
