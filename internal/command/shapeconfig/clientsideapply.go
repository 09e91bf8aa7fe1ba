package shapeconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// ReasonClientSideApply is the reason of a warning about a document that kubectl apply cannot store.
const ReasonClientSideApply = "client-side-apply"

const (
	// maxAnnotations is the API server's maximum of all annotations of an object, in bytes.
	maxAnnotations = 256 << 10
	// surelySmall is the size in bytes of a document whose annotations are below that in any case.
	surelySmall = 48 << 10
	// evidence is the usual size of the annotations of a signature without the message, in bytes.
	evidence = 14 << 10
)

// ClientSideApply returns a warning if the signed form of a document does not fit into client-side apply,
// which stores the whole object a second time in an annotation. The signed form of an unsigned document
// is estimated.
func ClientSideApply(doc *exception.Document) (warning cli.Result, found bool) {
	source := doc.Source()
	if len(source) <= surelySmall {
		return cli.Result{}, false
	}
	object, err := json.Marshal(doc.Object())
	if err != nil {
		return cli.Result{}, false // nobody can apply it
	}
	total, signed := len(object), false
	annotations, _ := doc.Lookup("metadata", "annotations")
	values, _ := annotations.(map[string]any)
	for key, value := range values {
		text, _ := value.(string)
		total += len(key) + len(text)
		signed = signed || seal.IsKey(key)
	}
	if !signed {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(source) // a buffer takes everything
		_ = w.Close()
		total += 2 * (base64.StdEncoding.EncodedLen(packed.Len()) + evidence)
	}
	warning = cli.ResultFor(doc)
	warning.Outcome, warning.Reason = cli.Warn, ReasonClientSideApply
	warning.Message = "kubectl apply cannot store the signed exception: its annotations would exceed 256 KiB, " +
		"because client-side apply keeps a copy of the object in one"
	warning.Hint = "use kubectl apply --server-side (Argo CD: syncOptions: [ServerSideApply=true]; Flux does it " +
		"always), or split the exception"
	return warning, total > maxAnnotations
}
