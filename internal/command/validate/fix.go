package validate

import (
	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/translate"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// fixer converts exceptions of kyverno.io to policies.kyverno.io. It copies other documents
// unchanged, so the output has all documents of the input.
type fixer struct {
	policies    *shape.PolicySet // nil if none are given
	wholePolicy bool
	report      *cli.Report
	out         exception.Stream
}

func (f *fixer) document(doc *exception.Document) {
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
	if f.report.Err() != nil {
		return cli.Finish(format, streams.Err, f.report)
	}
	content, err := f.out.Bytes()
	if err == nil {
		_, err = streams.Out.Write(content)
	}
	return err
}
