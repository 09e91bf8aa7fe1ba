package verify_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
)

// TestExaminedOnce asks one examination of every case about many times. Each answer equals a new
// verification, in any order. A rejection that does not depend on the time occurs at every time. A
// valid document is not valid before its signing.
func TestExaminedOnce(t *testing.T) {
	w := inWorld(t)
	lastTimeless := slices.Index(reasons(t), verify.ReasonAltered)
	met := map[bool]int{}
	for _, tc := range verdicts(w) {
		if tc.file != nil {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			v, doc := w.verifier(t, tc.policy, tc.root), tc.doc(t, w)
			// A missing time can also be a reason of the lifetime step.
			timeless := tc.want != "" && tc.want != verify.ReasonNoWitnessedTime && slices.Index(reasons(t), tc.want) <= lastTimeless
			met[timeless]++
			examined := v.Examine(doc)
			then := w.now.Add(tc.after)
			for _, at := range []time.Time{then, w.now.AddDate(-1, 0, 0), then, w.now.AddDate(100, 0, 0), {}, then} {
				got, err := examined.At(at)
				fresh, freshErr := v.Verify(doc, at)
				if diff := cmp.Diff(told(fresh, freshErr), told(got, err), cmpopts.IgnoreUnexported(verify.Signature{})); diff != "" {
					t.Fatalf("as of %s (-anew +examined)\n%s", at, diff)
				}
				reason := told(got, err).Reason
				if (at.Equal(then) || timeless) && reason != tc.want {
					t.Errorf("as of %s it is %q, and not %q", at, reason, tc.want)
				}
			}
		})
	}
	if met[true] == 0 || met[false] == 0 {
		t.Errorf("there are not both kinds of cases: %v", met)
	}
}

// answer is a verdict in a comparable form.
type answer struct {
	Reason, Detail string
	Facts          verify.Facts
	Signed         string
}

func told(verified *verify.Verified, err error) answer {
	var rejected *verify.Rejected
	switch {
	case errors.As(err, &rejected):
		return answer{Reason: rejected.Reason, Detail: rejected.Detail, Facts: rejected.Facts}
	case err != nil:
		return answer{Detail: err.Error()}
	default:
		return answer{Facts: verified.Facts(), Signed: string(verified.Message().Source())}
	}
}

// TestAnswersAreApart: changes to the facts of one answer do not affect another.
func TestAnswersAreApart(t *testing.T) {
	w := inWorld(t)
	examined := w.verifier(t, nil, nil).Examine(w.honest)
	inACentury := func() *verify.Rejected {
		verified, err := examined.At(w.now.AddDate(100, 0, 0))
		return answers(t, verified, err, verify.ReasonExpired)
	}
	rejected := inACentury()
	rejected.Facts.Signatures[0].Authority, rejected.Facts.Signatures[0].WitnessedAt = "nobody", time.Time{}
	rejected.Facts.MessageDigest, rejected.Reason = "", verify.ReasonWithdrawn
	verified := expect.Value(examined.At(w.now))(t)
	if s := verified.Signatures()[0]; s.Authority == "nobody" || s.WitnessedAt.IsZero() || verified.Facts().MessageDigest == "" {
		t.Errorf("the answer says %+v", s)
	}
	inACentury()
}

// TestNothingExamined: without an examined document, nothing is valid.
func TestNothingExamined(t *testing.T) {
	w := inWorld(t)
	var none *verify.Verifier
	for name, examined := range map[string]*verify.Examination{
		"nil": nil, "zero": {}, "no document": w.verifier(t, nil, nil).Examine(nil), "no verifier": none.Examine(w.honest),
	} {
		if verified, err := examined.At(w.now); err == nil || verified != nil {
			t.Errorf("%s: verified", name)
		}
	}
}
