package validate

import (
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
	*run
	documents []*exception.Document
	cleaned   bool
	out       exception.Stream
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
	fixed, isSigned, err := doc, len(manifest.SignatureKeys(doc)) > 0, error(nil)
	if len(paths) > 0 && !isSigned {
		fixed, err = manifest.Remove(doc, paths)
	}
	if err == nil && fails && !isSigned {
		fixed, err = manifest.RewriteConditions(fixed, kyverno.WithOptionalKeys)
	}
	if err != nil {
		f.result(doc, cli.Unknown, reasonNotWritten, err.Error())
		return
	}
	f.cleaned = f.cleaned || fixed != doc
	f.documents = append(f.documents, fixed)
}

func (f *fixer) result(doc *exception.Document, outcome cli.Outcome, reason, message string) {
	result := cli.ResultFor(doc)
	result.Outcome, result.Reason, result.Message = outcome, reason, message
	f.report.Add(result)
}

// translate writes a document in the form of policies.kyverno.io.
func (f *fixer) translate(doc *exception.Document) {
	exc := kyverno.Read(doc)
	if exc == nil || !exc.ByMatch {
		f.write(doc, doc)
		return
	}
	how := translate.Translation{WholePolicy: f.wholePolicy}
	if f.shape.Policies != nil {
		how.PolicyKinds = f.shape.Policies.Successors(exc)
	}
	source, notes, err := translate.Exception(doc, how)
	if err != nil {
		f.result(doc, cli.Refuse, reasonNoCounterpart, err.Error())
		return
	}
	for _, note := range notes {
		result := cli.ResultFor(doc)
		result.Outcome, result.Reason = cli.Refuse, reasonNoCounterpart
		result.Line, result.Column, result.Path = note.Position.Line, note.Position.Column, note.Path.String()
		result.Message, result.Hint = note.Message, note.Hint
		f.report.Add(result)
	}
	if len(notes) > 0 {
		return
	}
	translated, err := exception.Parse(source, doc.File())
	if err != nil {
		f.result(doc, cli.Unknown, reasonNotWritten, err.Error())
		return
	}
	f.write(doc, translated)
}

func (f *fixer) write(doc, written *exception.Document) {
	if err := f.out.Add(written); err != nil {
		f.result(doc, cli.Unknown, reasonNotWritten, err.Error())
		return
	}
	f.result(doc, cli.Pass, reasonTranslated, "")
}

// finish writes the documents if all could be converted. Otherwise it writes the report to standard
// error, where it cannot be mistaken for documents.
func (f *fixer) finish() error {
	for _, doc := range f.documents {
		if f.cleaned {
			f.write(doc, doc)
		} else {
			f.translate(doc)
		}
	}
	if f.report.Err() != nil {
		return cli.Finish(f.format, f.streams.Err, f.report)
	}
	content, err := f.out.Bytes()
	if err == nil {
		_, err = f.streams.Out.Write(content)
	}
	return err
}
