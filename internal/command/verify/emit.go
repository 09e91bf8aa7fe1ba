package verify

import (
	"io"

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

// printed returns the form of a document that --emit prints. It may run in parallel.
func printed(doc *exception.Document, verified *verify.Verified, signed bool) (*exception.Document, error) {
	out, err := message(verified)
	if err != nil || !signed {
		return out, err
	}
	signatures, err := seal.Read(doc)
	if err != nil {
		return nil, err
	}
	return seal.Attach(out, signatures) // and no other field of the document
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

// writeEmitted prints the documents if everything passed.
func (r *run) writeEmitted(w io.Writer) error {
	if r.emit == "" || r.report.Status() != cli.Passed {
		return nil
	}
	content, err := r.emitted.Bytes()
	if err == nil {
		_, err = w.Write(content)
	}
	return err
}
