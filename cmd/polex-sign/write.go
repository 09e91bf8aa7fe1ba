package main

import (
	"bytes"
	"fmt"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/exception"
)

// write writes the sealed documents as one stream.
func (r *run) write(sealed []*exception.Document) error {
	content, err := stream(sealed)
	if err != nil {
		return err
	}
	if r.options.output == "" {
		if _, err := r.streams.Out.Write(content); err != nil {
			return fmt.Errorf("write sealed documents: %w", err)
		}
	} else if err := cli.WriteFile(r.options.output, content); err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.streams.Err, "sealed %d of %d\n", len(sealed), len(sealed))
	return err
}

func stream(docs []*exception.Document) ([]byte, error) {
	var b bytes.Buffer
	for i, doc := range docs {
		source := doc.Source()
		if doc.JSON() != docs[0].JSON() {
			return nil, cli.Usagef("YAML and JSON cannot be written as one stream: seal them one by one")
		}
		if i > 0 && !doc.JSON() && !bytes.HasPrefix(source, []byte("---")) {
			b.WriteString("---\n")
		}
		b.Write(source)
		if !bytes.HasSuffix(source, []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), nil
}
