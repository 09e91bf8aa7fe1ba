// Package documents reads the documents of a text for tests.
package documents

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/must"
)

// All returns all documents of a stream, which must be readable. They can be large.
func All(t testing.TB, stream string) (all []*exception.Document) {
	t.Helper()
	for r := exception.NewReader(strings.NewReader(stream), "test.yaml").Large(); ; {
		d, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must.Do(t, err)
		all = append(all, d)
	}
}
