package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

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

// Each calls visit for every document, in the order of the paths and of the names in a folder. It
// reports a malformed document as refused, and an I/O error or a path without documents as
// undecided. In a folder it reads only regular files, because a link can lead to unreviewed
// content. It reads and parses small files on all cores, a few of them ahead; visit runs on the
// goroutine of the caller.
func (in Inputs) Each(visit func(*exception.Document)) {
	in.Report.inputs = append(in.Report.inputs, in.Paths...)
	files := parallel.Ordered[string, func(visitor)]{Workers: runtime.GOMAXPROCS(0), Work: in.ahead,
		Done: func(_ string, read func(visitor)) { read(visit) }}
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
			in.Unreadable(path, err)
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
		var info fs.FileInfo
		if err == nil && in.Screen != nil {
			info, err = entry.Info()
		}
		switch {
		case err != nil:
			in.Unreadable(path, err)
			found = true
			return nil
		case entry.IsDir():
			if entry.Name() == ".git" && in.Screen == nil {
				return fs.SkipDir
			}
			return nil
		case in.Screen != nil:
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
		in.Unreadable(dir, err)
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
			in.Unreadable(path, err)
			return
		}
		if !changed {
			in.Report.Unchanged++
			return
		}
	}
	hand(path)
}

// Room returns memory that is never used. While it is reachable, the garbage collector runs a third as
// often in a run of many small documents, which then takes about a fifth less processor time. Such a
// run needs at most its size more memory: 40 MiB.
func Room() []byte { return make([]byte, 40<<20) }
