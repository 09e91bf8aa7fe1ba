package promote

import (
	"fmt"
	"reflect"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// recorded are the annotations that are set before a document is sealed, from who
// reviewed it and when it is signed: those, and no others. For policies.kyverno.io one of them is
// a native property.
var recorded = []string{exception.AnnotationRequestedBy, exception.AnnotationApprovedBy, exception.AnnotationPullRequest,
	exception.AnnotationMergeCommit, exception.AnnotationRecordedFrom, exception.AnnotationSignedAt}

// differs says where a message is not what was asked for, but for what signing
// adds: the time that a duration became, with its other forms, the defaults of the
// API server, and the record of the review. It returns "" where it is.
func differs(asked, signed *exception.Document, witnessed time.Time, terms lifetime.Terms) string {
	if problem := badExpiry(asked, signed, witnessed, terms); problem != "" {
		return problem
	}
	want, err := asked.Add(exception.Defaults(asked)...)
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
	// A guard that does not read the key of the asked end would read a later one beside it.
	if wanted, _ := lifetime.Of(asked, terms); len(wanted.End.Path) == 0 {
		drop(expires)
	}
	if !isField && labelsEnd(signed, terms) {
		drop(labelTTL)
	}
	// What the API server or a GitOps tool may add to an object nobody signs, so
	// that seal.Compare, which passes it over, only finds the words here.
	if reflect.DeepEqual(have, want.Object()) {
		return ""
	}
	object, err := exception.FromObject(have)
	if err != nil {
		return err.Error()
	}
	for _, d := range seal.Compare(object, want, 1) {
		return fmt.Sprintf("%s is %s, and was asked for as %s", d.Path, d.New(), d.Old())
	}
	return "it has fields that only a cluster adds"
}

var labelTTL = exception.Path{"metadata", "labels", exception.LabelTTL}

// labelsEnd reports whether Kyverno's label says the end that the document states without it,
// as the label that signing writes does.
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

// leaveOut removes a key that was not asked for, and the mapping that was made to
// hold it.
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

// badExpiry says what is wrong with the time that a duration became: there is
// none without a duration, and it is no later than the duration allows.
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
		return "it asks for no duration, and the time of expiry is another"
	case wanted.ExpiresIn > 0 && got.ExpiresAt.IsZero():
		return "it asks for a duration, and there is no time of expiry"
	case wanted.ExpiresIn > 0 && got.ExpiresAt.After(witnessed.Add(wanted.ExpiresIn+skew)):
		return fmt.Sprintf("it asks for %s, and ends at %s", lifetime.FormatDuration(wanted.ExpiresIn), got.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return ""
}
