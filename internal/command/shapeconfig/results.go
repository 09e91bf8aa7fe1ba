package shapeconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/shape"
)

// Reasons returns the reasons of the checks with their configured severities.
func Reasons(config shape.Config) []exception.Reason {
	all := shape.Reasons()
	for i, r := range all {
		switch config.Checks[r.Name] {
		case shape.LevelError:
			all[i].Severity = shape.Error
		case shape.LevelWarning:
			all[i].Severity = shape.Warning
		}
	}
	return append(all, exception.Reason{Name: ReasonClientSideApply,
		Doc:      "the signed exception is too large for client-side apply",
		Severity: exception.SeverityWarning})
}

// Results converts the findings in a document to results.
func Results(doc *exception.Document, found []shape.Finding) []cli.Result {
	results := make([]cli.Result, len(found))
	for i, f := range found {
		results[i] = Result(doc, f)
	}
	return results
}

// Result converts a finding to a result. doc is nil if only the position is known.
func Result(doc *exception.Document, f shape.Finding) cli.Result {
	r := cli.Result{Outcome: cli.Refuse, File: f.Position.File, Line: f.Position.Line, Column: f.Position.Column,
		Reason: f.Reason, Message: f.Message, Hint: f.Hint}
	if f.Severity == shape.Warning {
		r.Outcome = cli.Warn
	}
	if m := unfilled.FindStringSubmatch(f.Message); m != nil {
		r.Hint = "write the value of " + m[1] + ": what Flux or a shell fills in later would not be what is signed"
	}
	if doc != nil {
		r.Object = doc.Identity().String()
	}
	if len(f.Path) > 0 {
		r.Path = f.Path.String()
	}
	return r
}

// unfilled matches a quoted value that somebody or some tool has to fill in.
var unfilled = regexp.MustCompile(`"[^"]*(\$\{[^"{}]*\}|<[A-Za-z][^"<>]*>)[^"]*"`)

// Exempted names the first exempted resources, the number of the others, and the exempted parts.
func Exempted(e shape.Exemption) string {
	const most = 5
	only := ""
	if len(e.Only) > 0 {
		only = ", but only " + strings.Join(e.Only[:min(most, len(e.Only))], ", ")
	}
	if more := len(e.Only) - most; more > 0 {
		only += fmt.Sprintf(" and %d more", more)
	}
	if !e.Known {
		return "resources that polex cannot tell from files: a match condition is not a plain comparison" + only
	}
	all := Names(e.Resources)
	text := strings.Join(all[:min(most, len(all))], ", ")
	switch more := e.Count - min(most, len(all)); {
	case e.Cut && len(all) == 0:
		text = "resources that are too many or too costly to list"
	case e.Cut:
		text += fmt.Sprintf(" and more than %d others", more)
	case more > 0:
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + only
}

// Names returns identities as texts.
func Names(ids []exception.Identity) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = id.String()
	}
	return all
}

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
