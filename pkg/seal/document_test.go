package seal_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"testing"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
)

type object = map[string]any

func parse(t testing.TB, yaml string) *exception.Document {
	t.Helper()
	return expect.Value(exception.Parse([]byte(yaml), "test.yaml"))(t)
}

func fromObject(t testing.TB, root object) *exception.Document {
	t.Helper()
	return expect.Value(exception.FromObject(root))(t)
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
	expect.Value(z.Write(raw))(t)
	expect.OK(t, z.Close())
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
