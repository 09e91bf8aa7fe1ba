package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/polex-dev/polex/pkg/exception"
)

// Whole reads a single path with exactly one document, and returns the document and all bytes.
// Otherwise it adds a result to the report, as Each does, and returns nil.
func (in Inputs) Whole() (doc *exception.Document, source []byte) {
	r, name := in.Stdin, "<stdin>"
	if path := in.Paths[0]; path != "-" {
		f, err := os.Open(path) // #nosec G304 -- the user names the file
		if err != nil {
			in.Unreadable(path, err)
			return nil, nil
		}
		defer f.Close() //nolint:errcheck // only read
		r, name = f, path
	}
	source, err := io.ReadAll(io.LimitReader(r, exception.MaxDocument+1))
	if err != nil {
		in.Unreadable(name, err)
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
			in.Unreadable(name, err)
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

// Unreadable adds the result for a file or folder that could not be read.
func (in Inputs) Unreadable(path string, err error) {
	// The result names the path already.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	in.Report.Add(Result{Outcome: Unknown, File: path, Reason: ReasonUnreadable, Message: err.Error()})
}
