package sign

import (
	"fmt"
	"os"
	"slices"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/shapeconfig"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// write writes the signed documents as one stream.
func (r *run) write(signed []*exception.Document) error {
	for _, doc := range signed {
		if doc.JSON() != signed[0].JSON() {
			return cli.Usagef("YAML and JSON cannot be written as one stream: sign them one by one")
		}
	}
	content, err := exception.Join(signed)
	if err != nil {
		return err
	}
	if r.options.output == "" {
		if _, err := r.streams.Out.Write(content); err != nil {
			return err
		}
	} else if err := cli.WriteFile(r.options.output, content); err != nil {
		return err
	}
	for _, doc := range signed {
		if warning, found := shapeconfig.ClientSideApply(doc); found {
			_, _ = fmt.Fprintf(r.streams.Err, "polex-sign: warning: %s: %s\npolex-sign: hint: %s\n", doc.Identity(),
				warning.Message, warning.Hint)
		}
	}
	noun := "documents"
	if len(signed) == 1 {
		noun = "document"
	}
	_, err = fmt.Fprintf(r.streams.Err, "%d %s: %d signed\n", len(signed), noun, len(signed))
	return err
}

// checkOutput rejects an existing file of --output-file, unless it holds nothing else than earlier signed
// forms of the documents. Another file may be the only copy of something.
func (o *options) checkOutput(docs []*exception.Document) error {
	info, err := os.Stat(o.output)
	if o.output == "" || err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil //nolint:nilerr // writing reports it
	}
	f, err := os.Open(o.output)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	for old, err := range exception.NewReader(f, o.output).All() {
		if err == nil {
			_, err = seal.Read(old)
		}
		same := func(doc *exception.Document) bool { return doc.Identity() == old.Identity() }
		if err != nil || !slices.ContainsFunc(docs, same) {
			return &cli.UsageError{Err: fmt.Errorf(
				"--output-file %s exists, and is not an earlier signed form of the input", o.output),
				Hint: "name another file, or remove this one"}
		}
	}
	return nil
}

// writeBundle writes the bundle of a signed document to a file. The bundle comes before the
// document, because it has no effect alone.
func (r *run) writeBundle(signed *exception.Document) error {
	s, err := seal.Read(signed)
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return cli.WriteFile(r.options.bundle, append(s.Signatures[0].BundleV03, '\n'))
}
