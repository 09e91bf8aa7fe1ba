package verify

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
)

// maxEmitted is the maximum size in bytes of the output, which is held back until everything is
// verified.
const maxEmitted = 64 << 20

// reasonNotEmitted is the reason of a verified document that cannot be printed.
const reasonNotEmitted = "not-emitted"

// emission prints the verified documents after all of them have passed.
type emission struct {
	form   string // "" for none
	stream exception.Stream
}

// addEmitFlag adds --emit. Without a value, it means --emit=message.
func addEmitFlag(cmd *cobra.Command) *emission {
	e := &emission{stream: exception.Stream{Limit: maxEmitted}}
	cmd.Flags().Var(e, "emit", "print the verified documents if all pass: message (without signature) or signed")
	cmd.Flags().Lookup("emit").NoOptDefVal = "message"
	_ = cmd.RegisterFlagCompletionFunc("emit",
		cobra.FixedCompletions([]string{"message", "signed"}, cobra.ShellCompDirectiveNoFileComp))
	return e
}

// String returns the form.
func (e *emission) String() string { return e.form }

// Type names the value in help texts.
func (e *emission) Type() string { return "string" }

// Set sets the form.
func (e *emission) Set(form string) error {
	if form != "message" && form != "signed" {
		return fmt.Errorf("%q is not message or signed", form)
	}
	e.form = form
	return nil
}

// check rejects a form that was given as a PATH of its own.
func (e *emission) check(paths []string) error {
	for _, form := range []string{"message", "signed"} {
		if _, err := os.Stat(form); e.on() && err != nil && slices.Contains(paths, form) {
			return &cli.UsageError{Err: fmt.Errorf("%q is read as a PATH, and there is no such file", form),
				Hint: "write --emit=" + form}
		}
	}
	return nil
}

// on reports whether documents are printed besides the results.
func (e *emission) on() bool { return e.form != "" }

// of returns the printed form of a document. It may run in parallel.
func (e *emission) of(doc *exception.Document, verified *verify.Verified) (*exception.Document, error) {
	out, err := message(verified)
	if err == nil && e.form == "signed" {
		out, err = withSignatures(out, doc)
	}
	return out, err
}

// message returns the signed message. It converts JSON to YAML with the same values, because some
// YAML readers reject JSON in the middle of a stream.
func message(verified *verify.Verified) (*exception.Document, error) {
	signed := verified.Message()
	if !signed.JSON() {
		return signed, nil
	}
	yaml, err := seal.Message(signed)
	if err != nil {
		return nil, err
	}
	return exception.Parse(yaml, "message")
}

// withSignatures returns a message with the signature annotations of its document, and no other field of
// it.
func withSignatures(message, doc *exception.Document) (*exception.Document, error) {
	s, err := seal.Read(doc)
	if err != nil {
		return nil, err
	}
	return seal.Attach(message, s)
}

// write prints the documents if everything passed.
func (e *emission) write(w io.Writer, report *cli.Report) error {
	if !e.on() || report.Status() != cli.Passed {
		return nil
	}
	content, err := e.stream.Bytes()
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}
