package validate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
)

// part is a document of a split file, with its new file. The new name is numbered, and not taken
// from the document: a tool could interpret a file name that the document chooses.
type part struct {
	path    string
	content []byte
}

// split replaces each file with several documents or a list by one file for each document. It
// compares everything before it writes, and removes a file after all of its parts are on disk. A
// second run completes an interrupted one: it leaves parts with the same content alone.
func split(inputs cli.Inputs, format *cli.Format, streams cli.Streams) error {
	report := inputs.Report
	if slices.Contains(inputs.Paths, "-") {
		return cli.Usagef("--split replaces files, and - is standard input")
	}
	files := map[string][]*exception.Document{}
	var order []string
	inputs.Large = true
	inputs.Each(func(doc *exception.Document) {
		if files[doc.File()] == nil {
			order = append(order, doc.File())
		}
		files[doc.File()] = append(files[doc.File()], doc)
	})
	report.Done = "written"
	parts, taken := map[string][]part{}, map[string]bool{}
	for _, file := range order {
		if docs := files[file]; len(docs) > 1 || docs[0].IsList() {
			parts[file] = partsOf(file, docs, taken, report)
		}
	}
	if report.Err() != nil {
		return cli.Finish(format, streams.Out, report)
	}
	for _, file := range order {
		for _, p := range parts[file] {
			if err := p.write(); err != nil {
				return err
			}
			report.Add(cli.Result{Outcome: cli.Pass, File: p.path, Reason: reasonSplit, Message: "written, from " + file})
		}
		if len(parts[file]) > 0 {
			if err := removeReplaced(file); err != nil {
				return err
			}
		}
	}
	return cli.Finish(format, streams.Out, report)
}

// partsOf plans the files for the documents of a file. It reports problems.
func partsOf(file string, docs []*exception.Document, taken map[string]bool, report *cli.Report) (parts []part) {
	refuse := func(path, reason, message, hint string) []part {
		report.Add(cli.Result{Outcome: cli.Refuse, File: path, Reason: reason, Message: message, Hint: hint})
		return nil
	}
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return refuse(file, cli.ReasonNotRegular, "only regular files are split", "name the file itself")
	}
	stem := strings.TrimSuffix(file, filepath.Ext(file))
	for _, doc := range docs {
		each, extension := []*exception.Document{doc}, filepath.Ext(file)
		if doc.IsList() {
			var err error
			if each, err = doc.Items(); err != nil {
				var syntax *exception.SyntaxError
				if errors.As(err, &syntax) {
					report.Add(cli.Malformed(syntax))
					return nil
				}
				return refuse(file, reasonNotWritten, err.Error(), "")
			}
			if doc.JSON() {
				extension = ".yaml"
			}
		}
		for _, doc := range each {
			content, err := exception.Join([]*exception.Document{doc})
			if err != nil {
				return refuse(file, reasonNotWritten, err.Error(), "")
			}
			p := part{path: fmt.Sprintf("%s-%d%s", stem, len(parts)+1, extension), content: content}
			if _, err := os.Lstat(p.path); taken[p.path] || !errors.Is(err, fs.ErrNotExist) && !p.written() {
				return refuse(p.path, reasonFileExists, "this file exists already, and a document of "+file+" would be written to it", "rename one of the two")
			}
			taken[p.path] = true
			parts = append(parts, p)
		}
	}
	return parts
}

// written reports whether an earlier run has written the part.
func (p part) written() bool {
	info, err := os.Lstat(p.path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	content, err := cli.ReadFileUpTo(p.path, int64(len(p.content)))
	return err == nil && bytes.Equal(content, p.content)
}

func (p part) write() error {
	if p.written() {
		return nil
	}
	return cli.CreateFile(p.path, p.content)
}

// removeReplaced removes a split file, after its parts are stored on disk.
func removeReplaced(file string) error {
	folder, err := os.Open(filepath.Dir(file)) // #nosec G304 -- the user names the file
	if err != nil {
		return err
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return err
	}
	return os.Remove(file)
}
