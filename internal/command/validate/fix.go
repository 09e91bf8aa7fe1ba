package validate

import (
	"time"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/kyverno/schema"
	"github.com/polex-dev/polex/internal/kyverno/translate"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// fixer corrects exceptions, one thing at a time. If some have metadata that tools or servers write, it removes
// that, and mends conditions that are an error where a key is missing. Otherwise it converts exceptions of kyverno.io
// to policies.kyverno.io. It copies other documents unchanged, so the output has all documents of the input.
type fixer struct {
	checker     *shape.Checker
	now         time.Time
	policies    *shape.PolicySet // nil if none are given
	wholePolicy bool
	report      *cli.Report
	documents   []*exception.Document
	cleaned     bool
	out         exception.Stream
}

// document keeps a document without the metadata that tools and servers write, and with conditions that are false
// where a label or an annotation is missing.
func (f *fixer) document(doc *exception.Document) {
	var paths []exception.Path
	fails := false
	for _, finding := range f.checker.Check(doc, f.now) {
		fails = fails || finding.Reason == shape.ReasonMayFail
		if finding.Reason == shape.ReasonToolMetadata || finding.Reason == schema.UnsignableField {
			paths = append(paths, finding.Path)
		}
	}
	if len(paths) > 0 && len(manifest.SignatureKeys(doc)) == 0 {
		clean, err := manifest.Remove(doc, paths)
		if err != nil {
			f.report.Add(unwritten(doc, err))
			return
		}
		doc, f.cleaned = clean, true
	}
	if fails && len(manifest.SignatureKeys(doc)) == 0 {
		mended, err := manifest.RewriteConditions(doc, kyverno.WithOptionalKeys)
		if err != nil {
			f.report.Add(unwritten(doc, err))
			return
		}
		f.cleaned = f.cleaned || mended != doc
		doc = mended
	}
	f.documents = append(f.documents, doc)
}

// translate writes a document in the form of policies.kyverno.io.
func (f *fixer) translate(doc *exception.Document) {
	exc := kyverno.Read(doc)
	if exc == nil || !exc.ByMatch {
		f.write(doc, doc)
		return
	}
	how := translate.Translation{WholePolicy: f.wholePolicy}
	if f.policies != nil {
		how.PolicyKinds = f.policies.Successors(exc)
	}
	source, notes, err := translate.Exception(doc, how)
	if err != nil {
		result := cli.ResultFor(doc)
		result.Outcome, result.Reason, result.Message = cli.Refuse, reasonNoCounterpart, err.Error()
		f.report.Add(result)
		return
	}
	for _, note := range notes {
		result := cli.ResultFor(doc)
		result.Outcome, result.Reason = cli.Refuse, reasonNoCounterpart
		result.Line, result.Column, result.Path = note.Position.Line, note.Position.Column, note.Path.String()
		result.Message, result.Hint = note.Message, note.Hint
		f.report.Add(result)
	}
	if len(notes) == 0 {
		translated, err := exception.Parse(source, doc.File())
		if err != nil {
			f.report.Add(unwritten(doc, err))
			return
		}
		f.write(doc, translated)
	}
}

func (f *fixer) write(doc, written *exception.Document) {
	if err := f.out.Add(written); err != nil {
		f.report.Add(unwritten(doc, err))
		return
	}
	result := cli.ResultFor(doc)
	result.Outcome, result.Reason = cli.Pass, reasonTranslated
	f.report.Add(result)
}

func unwritten(doc *exception.Document, err error) cli.Result {
	result := cli.ResultFor(doc)
	result.Outcome, result.Reason, result.Message = cli.Unknown, reasonNotWritten, err.Error()
	return result
}

// finish writes the documents if all could be converted. Otherwise it writes the report to standard
// error, where it cannot be mistaken for documents.
func (f *fixer) finish(format *cli.Format, streams cli.Streams) error {
	for _, doc := range f.documents {
		if f.cleaned {
			f.write(doc, doc)
		} else {
			f.translate(doc)
		}
	}
	if f.report.Err() != nil {
		return cli.Finish(format, streams.Err, f.report)
	}
	content, err := f.out.Bytes()
	if err == nil {
		_, err = streams.Out.Write(content)
	}
	return err
}
