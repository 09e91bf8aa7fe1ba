package guard

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/utils/lru"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// TestAdmissions: the facts of a verified request are found again for the same content and cluster,
// between its start and expiry, until many other requests have followed.
func TestAdmissions(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	doc := func(n any) *exception.Document {
		d := must.Get(exception.FromObject(map[string]any{"kind": "PolicyException",
			"metadata": map[string]any{"name": "a"}, "spec": n}))(t)
		return d
	}
	a := admissions{lru.New(maxAdmitted)}
	one := doc(int64(1))
	a.keep(one, "c", Facts{StartsAt: now.Add(-time.Hour), ExpiresAt: now.Add(time.Hour)}, now)
	for name, tc := range map[string]struct {
		doc     *exception.Document
		cluster string
		after   time.Duration
		want    bool
	}{
		"the same":              {one, "c", 0, true},
		"later":                 {one, "c", time.Hour - 1, true},
		"at its end":            {one, "c", time.Hour, false},
		"before it was judged":  {one, "c", -1, false},
		"in another cluster":    {one, "d", 0, false},
		"another number":        {doc(int64(2)), "c", 0, false},
		"a number in a list":    {doc([]any{int64(1)}), "c", 0, false},
		"a number as a float":   {doc(1.0), "c", 0, false},
		"a number as text":      {doc("1"), "c", 0, false},
		"true":                  {doc(true), "c", 0, false},
		"nothing":               {doc(nil), "c", 0, false},
		"text in another shape": {doc(map[string]any{"1": ""}), "c", 0, false},
	} {
		_, known := a.verified(contentOf(tc.doc), tc.cluster, now.Add(tc.after))
		expect.That(t, known == tc.want, "%s: %v, want %v", name, known, tc.want)
	}
	for n := range 2 * maxAdmitted {
		a.keep(doc(fmt.Sprint(n)), "c", Facts{}, now)
	}
	expect.Is(t, "held", maxAdmitted, a.verdicts.Len())
	for doc, want := range map[*exception.Document]bool{one: false, doc("0"): false, doc(fmt.Sprint(2*maxAdmitted - 1)): true, doc(fmt.Sprint(maxAdmitted)): true} {
		if _, known := a.verified(contentOf(doc), "c", now); known != want {
			t.Errorf("%v: %v", doc.Object(), known)
		}
	}
}
