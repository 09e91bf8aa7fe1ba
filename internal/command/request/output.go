package request

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// results returns the stream for the report: standard error if the drafts go to standard output.
func (r *run) results() io.Writer {
	if r.toStdout() {
		return r.streams.Err
	}
	return r.streams.Out
}

func (r *run) toStdout() bool {
	path := r.options.output
	return path == "-" || path == "" && (r.cfg.Dir == "" || r.root == "")
}

// put checks drafts as polex-validate does, and writes those that pass.
func (r *run) put(drafts []request.Draft) error {
	checker, err := shapeconfig.Checker(r.config)
	if err != nil {
		return err
	}
	live := r.live()
	var good []request.Draft
	for _, d := range drafts {
		if r.passes(checker, d, live) {
			good = append(good, d)
		}
	}
	switch {
	case len(good) == 0:
	case r.toStdout():
		err = r.print(good)
	default:
		err = r.write(good)
	}
	if err != nil {
		return err
	}
	return r.end()
}

// live returns the positions of the signed exceptions that have not expired.
func (r *run) live() map[exception.IdentityKey]exception.Position {
	all := map[exception.IdentityKey]exception.Position{}
	folder := r.inRepository(r.folders.Signed)
	if _, err := os.Stat(folder); r.root == "" || err != nil {
		return all
	}
	for doc := range cli.Documents([]string{folder}, r.report, cli.Warn) {
		if request.Live(doc, r.config.Rules.Terms, r.now) {
			all[doc.Identity().Key()] = doc.Position()
		}
	}
	return all
}

// passes adds the problems of a draft to the report, and reports whether it may be written.
func (r *run) passes(checker *shape.Checker, d request.Draft, live map[exception.IdentityKey]exception.Position) bool {
	id := d.Document.Identity()
	if at, exists := live[id.Key()]; exists {
		r.add(cli.Result{Outcome: cli.Refuse, File: at.File, Line: at.Line, Column: at.Column, Reason: reasonLive,
			Object: id.String(), Message: "a signed exception of this name exists, and has not expired",
			Hint: "to extend it: --renew " + id.Name})
		return false
	}
	results := shapeconfig.Results(d.Document, checker.Check(d.Document, r.now))
	passed := true
	for _, result := range results {
		passed = passed && result.Outcome != cli.Refuse
		result.Message = fmt.Sprintf("%s: %s", d.Words, result.Message)
	}
	if !passed {
		r.report.Documents++
	}
	r.report.Add(results...)
	if !passed {
		r.notes(d, d.Document.Position().File)
	}
	return passed
}

// notes adds the notes of a draft as warnings.
func (r *run) notes(d request.Draft, file string) {
	for _, note := range d.Notes {
		result := cli.ResultFor(d.Document)
		result.Outcome, result.File, result.Reason, result.Message = cli.Warn, file, reasonNote, note
		r.report.Add(result)
	}
}

// drafted adds the line about a draft: the exempted resources, in general and now.
func (r *run) drafted(d request.Draft, file, reason string) {
	result := cli.ResultFor(d.Document)
	result.Outcome, result.File, result.Reason, result.Message = cli.Pass, file, reason, d.Words
	result.Details = map[string]any{"answers": d.Covered()}
	if checker, err := shape.New(r.config); err == nil && r.config.Resources != nil {
		now := checker.Exempted(d.Document)
		result.Message += "; now: " + exempted(now)
		if now.Known {
			result.Details["exempts"], result.Details["count"] = shapeconfig.Names(now.Resources), now.Count
		}
	}
	r.add(result)
	r.notes(d, file)
}

// exempted names the first exempted resources, and their number.
func exempted(e shape.Exemption) string {
	if e.Known && e.Count == 0 {
		return "none of the resources given"
	}
	return shapeconfig.Exempted(e)
}

func (r *run) print(drafts []request.Draft) error {
	var stream exception.Stream
	for _, d := range drafts {
		if err := stream.Add(d.Document); err != nil {
			return err
		}
		r.drafted(d, "<stdout>", reasonDrafted)
	}
	content, err := stream.Bytes()
	if err == nil {
		_, err = r.streams.Out.Write(content)
	}
	return err
}

// write writes drafts to files. It never overwrites a file, because it may have been edited since.
func (r *run) write(drafts []request.Draft) error {
	target := r.options.output
	folder := target == "" || strings.HasSuffix(target, "/")
	if target == "" {
		target = r.inRepository(r.folders.Unsigned)
	} else if info, err := os.Stat(target); err == nil && info.IsDir() {
		folder = true
	}
	if !folder && len(drafts) > 1 {
		return cli.Usagef("--output-file %s is one file, and there are %d drafts: name a folder, as %[1]s/",
			target, len(drafts))
	}
	if folder {
		if err := os.MkdirAll(target, 0o755); err != nil { // #nosec G301 -- as Git makes folders
			return fmt.Errorf("make folder: %w", err)
		}
	}
	for _, d := range drafts {
		path := target
		if folder {
			path = filepath.Join(target, d.File())
		}
		old, err := cli.ReadFile(path)
		switch {
		case err == nil && bytes.Equal(old, d.Source):
			r.drafted(d, path, reasonThere)
			continue
		case err == nil:
			r.add(cli.Result{Outcome: cli.Refuse, File: path, Reason: reasonInTheWay,
				Object: d.Document.Identity().String(), Message: "the file exists with different content",
				Hint: "remove it to draft it again, or change it by hand"})
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("look at %s: %w", path, err)
		}
		if err := cli.WriteFile(path, d.Source); err != nil {
			return err
		}
		r.drafted(d, path, reasonDrafted)
	}
	return nil
}
