package sign

import (
	"fmt"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// write writes the signed documents as one stream.
func (r *run) write(sealed []*exception.Document) error {
	for _, doc := range sealed {
		if doc.JSON() != sealed[0].JSON() {
			return cli.Usagef("YAML and JSON cannot be written as one stream: sign them one by one")
		}
	}
	content, err := exception.Join(sealed)
	if err != nil {
		return err
	}
	if r.options.output == "" {
		if _, err := r.streams.Out.Write(content); err != nil {
			return fmt.Errorf("write signed documents: %w", err)
		}
	} else if err := cli.WriteFile(r.options.output, content); err != nil {
		return err
	}
	noun := "documents"
	if len(sealed) == 1 {
		noun = "document"
	}
	_, err = fmt.Fprintf(r.streams.Err, "%d %s: %d signed\n", len(sealed), noun, len(sealed))
	return err
}

// writeBundle writes the bundle of a signed document to a file. The bundle comes before the
// document, because it has no effect alone.
func (r *run) writeBundle(sealed *exception.Document) error {
	s, err := seal.Read(sealed)
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return cli.WriteFile(r.options.bundle, append(s.Signatures[0].BundleV03, '\n'))
}
