package promotion

import (
	"fmt"
	"reflect"
	"time"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/seal"
)

// recorded are the annotations of the review record and the signing time. Promotion adds these
// before signing, and no others. In policies.kyverno.io, the approvers are a field instead.
var recorded = []string{exception.AnnotationRequestedBy, exception.AnnotationApprovedBy,
	exception.AnnotationPullRequest,
	exception.AnnotationMergeCommit, exception.AnnotationRecordedFrom, exception.AnnotationSignedAt}

// differs returns the first difference between a signed message and the request, or "". It ignores
// the fields that signing adds: the expiry computed from a duration in all its forms, the defaults
// of the API server, and the review record.
func differs(asked, signed *exception.Document, witnessed time.Time, terms lifetime.Terms) string {
	if problem := badExpiry(asked, signed, witnessed, terms); problem != "" {
		return problem
	}
	want, err := asked.Add(schema.Defaults(asked)...)
	if err != nil {
		return err.Error()
	}
	have := signed.Object()
	drop := func(path exception.Path) { leaveOut(have, want.Object(), path) }
	for _, key := range recorded {
		drop(exception.Path{"metadata", "annotations", key})
	}
	approved, _ := exception.StatementPath(asked.GroupKind(), exception.AnnotationApprovedBy)
	expires, isField := exception.StatementPath(asked.GroupKind(), exception.AnnotationExpiresAt)
	drop(approved)
	// If the request states its expiry under the team's own key, nothing may add expires-at. A
	// guard without that key in its configuration would use the added time, which may be later.
	if wanted, _ := lifetime.Of(asked, terms); len(wanted.End.Path) == 0 {
		drop(expires)
	}
	if !isField && labelsEnd(signed, terms) {
		drop(labelTTL)
	}
	// Compare all fields. seal.Compare ignores the fields that the API server and GitOps tools add,
	// but a signed message must not have them. It is only used to describe the difference.
	if reflect.DeepEqual(have, want.Object()) {
		return ""
	}
	object, err := exception.FromObject(have)
	if err != nil {
		return err.Error()
	}
	for _, d := range seal.Compare(object, want, 1) {
		return fmt.Sprintf("%s is %s, requested as %s", d.Path, d.New(), d.Old())
	}
	return "it has fields that only a cluster adds"
}

var labelTTL = exception.Path{"metadata", "labels", exception.LabelTTL}

// labelsEnd reports whether Kyverno's TTL label equals the expiry that the document states
// elsewhere. Signing writes such a label.
func labelsEnd(signed *exception.Document, terms lifetime.Terms) bool {
	object := signed.Object()
	labelTTL.Remove(object)
	doc, err := exception.FromObject(object)
	if err != nil {
		return false
	}
	life, err := lifetime.Of(doc, terms)
	return err == nil && !life.ExpiresAt.IsZero() && signed.Text(labelTTL...) == lifetime.FormatTTL(life.ExpiresAt)
}

// leaveOut removes a key that is not in the request, and its parent mapping if only that key made
// it.
func leaveOut(have, asked map[string]any, path exception.Path) {
	key, _ := path[0].(string)
	if len(path) == 1 {
		if _, there := asked[key]; !there {
			delete(have, key)
		}
		return
	}
	below, ok := have[key].(map[string]any)
	if !ok {
		return
	}
	askedBelow, wasAsked := asked[key].(map[string]any)
	before := len(below)
	leaveOut(below, askedBelow, path[1:])
	if !wasAsked && len(below) == 0 && before > 0 {
		delete(have, key)
	}
}

// badExpiry returns the problem with the expiry in the signed document, or "". Without a duration,
// the expiry must be the requested one. With a duration, it must not be later than the duration
// allows.
func badExpiry(asked, signed *exception.Document, witnessed time.Time, terms lifetime.Terms) string {
	if !asked.GroupKind().IsException() || !signed.GroupKind().IsException() {
		return ""
	}
	wanted, err := lifetime.Of(asked, terms)
	if err != nil {
		return err.Error()
	}
	got, err := lifetime.Of(signed, terms)
	if err != nil {
		return err.Error()
	}
	if !got.SignedAt.IsZero() && got.SignedAt.Before(witnessed) {
		witnessed = got.SignedAt
	}
	switch {
	case wanted.ExpiresIn == 0 && !got.ExpiresAt.Equal(wanted.ExpiresAt):
		return "the request has no duration, and the expiry time differs"
	case wanted.ExpiresIn > 0 && got.ExpiresAt.IsZero():
		return "the request has a duration, and the signed document has no expiry time"
	case wanted.ExpiresIn > 0 && got.ExpiresAt.After(witnessed.Add(wanted.ExpiresIn+skew)):
		return fmt.Sprintf("the request has the duration %s, and the signed document expires at %s",
			lifetime.FormatDuration(wanted.ExpiresIn), got.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return ""
}
