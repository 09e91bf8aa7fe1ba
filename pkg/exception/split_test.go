package exception_test

import (
	"bytes"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
)

// TestItemsInBraces: an item in braces becomes a separate file in block style, since the item is
// not valid JSON.
func TestItemsInBraces(t *testing.T) {
	doc, err := exception.NewReader(bytes.NewReader([]byte("kind: List\nitems:\n- {kind: A, metadata: {name: a}}\n- kind: B\n")), "l.yaml").Next()
	if err != nil {
		t.Fatal(err)
	}
	items, err := doc.Items()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"kind: A\nmetadata:\n  name: a\n", "kind: B\n"} {
		if got, err := exception.Join(items[i : i+1]); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}
