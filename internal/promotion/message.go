package promotion

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/promotion/commitmessage"
	"github.com/polex-dev/polex/pkg/exception"
)

// message returns the commit message: the signed exceptions, and trailers for the audit.
func (p *Signed) message(moves []*Move, signedOffBy string) string {
	var docs []*exception.Document
	for _, m := range moves {
		docs = append(docs, m.Documents...)
	}
	if len(docs) == 0 {
		return ""
	}
	var b strings.Builder
	if len(docs) == 1 {
		fmt.Fprintf(&b, "Sign %s\n\n", docs[0].Identity())
	} else {
		fmt.Fprintf(&b, "Sign %d exceptions\n\n", len(docs))
	}
	for _, m := range moves {
		fmt.Fprintf(&b, "%s -> %s\n", m.From, m.To)
	}
	fmt.Fprintf(&b, "\n%s: %s\n", commitmessage.Source, p.queue.source)
	for _, m := range moves {
		for _, index := range m.logIndexes {
			fmt.Fprintf(&b, "%s: %d\n", commitmessage.LogIndex, index)
		}
	}
	for _, m := range moves {
		for _, r := range m.Replaces {
			b.WriteString(r.trailer())
		}
	}
	fmt.Fprintf(&b, "Signed-off-by: %s\n", signedOffBy)
	return b.String()
}

// trailer names the transparency log entries of a replaced file: "Polex-Replaces: signed/a.yaml
// 123". It skips a document without a readable signature.
func (r Replaced) trailer() string {
	line := commitmessage.Replaces + ": " + commitmessage.Path(r.Path)
	for _, doc := range r.Documents {
		if entry, err := commitmessage.LogEntryOf(doc); err == nil && entry != nil {
			line += fmt.Sprintf(" %d", entry.Index)
		}
	}
	return line + "\n"
}
