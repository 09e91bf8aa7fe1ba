package seal_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
)

type object = map[string]any

func parse(t testing.TB, yaml string) *exception.Document {
	t.Helper()
	doc, err := exception.Parse([]byte(yaml), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func fromObject(t testing.TB, root object) *exception.Document {
	t.Helper()
	doc, err := exception.FromObject(root)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// annotated returns a small document with these annotations.
func annotated(t testing.TB, annotations object) *exception.Document {
	t.Helper()
	return fromObject(t, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "a", "annotations": annotations}})
}

func packed(t testing.TB, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
