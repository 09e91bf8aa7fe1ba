package guard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/polex-dev/polex/internal/guard"
	"github.com/polex-dev/polex/pkg/exception"
)

// questionOf returns the question for a request.
func questionOf(r *admissionv1.AdmissionRequest) guard.Question {
	return guard.Question{
		Operation: r.Operation, Kind: r.Kind, RequestKind: r.RequestKind, Namespace: r.Namespace, Name: r.Name, SubResource: r.SubResource,
		User: r.UserInfo.Username, DryRun: r.DryRun != nil && *r.DryRun, Object: string(r.Object.Raw), OldObject: string(r.OldObject.Raw),
	}
}

// ask posts a question, as a value or as text, and returns the answer and its status.
func ask(t testing.TB, h *guard.Handler, q any) (guard.Answer, int) {
	t.Helper()
	raw, isText := q.(string)
	if !isText {
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(text)
	}
	w := httptest.NewRecorder()
	h.ServeVerify(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/verify", strings.NewReader(raw)))
	var a guard.Answer
	dec := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return a, w.Code
}

// agrees compares the answer to a question with the answer to the request.
func agrees(t testing.TB, h *guard.Handler, r *admissionv1.AdmissionRequest, reason string, allowed bool) {
	t.Helper()
	if r.Operation != create && r.Operation != update {
		reason, allowed = "operation-not-allowed", false
	}
	a, code := ask(t, h, questionOf(r))
	if a.Reason != reason || a.Allowed != allowed {
		t.Errorf("the answer to the question is %+v, want %v for %q", a, allowed, reason)
	}
	if undecided := reason == "undecided"; (code == http.StatusOK) == undecided {
		t.Errorf("the status of %q is %d", reason, code)
	}
	if !allowed && !strings.HasPrefix(a.Message, "["+reason+"] ") {
		t.Errorf("the message is %q", a.Message)
	}
}

// TestNotQuestions: a body that is not a question is denied with an Answer.
func TestNotQuestions(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{})
	whole, err := json.Marshal(questionOf(signed(t)))
	if err != nil {
		t.Fatal(err)
	}
	text := string(whole)
	if a, code := ask(t, h, text); !a.Allowed || code != http.StatusOK {
		t.Fatalf("%d %+v", code, a)
	}
	for name, tc := range map[string]struct {
		text, want string
		code       int
	}{
		"nothing":               {"", "malformed", 200},
		"null":                  {"null", "operation-not-allowed", 200},
		"half of it":            {text[:len(text)-1], "malformed", 200},
		"two of them":           {text + text, "malformed", 200},
		"another type":          {`"x"`, "malformed", 200},
		"another field":         {strings.Replace(text, `{`, `{"allowed":true,`, 1), "malformed", 200},
		"the object as a value": {`{"operation":"CREATE","object":{}}`, "malformed", 200},
		"a review":              {string(body(t, signed(t))), "malformed", 200},
		"no operation":          {strings.Replace(text, "CREATE", "", 1), "operation-not-allowed", 200},
		"a deletion":            {strings.Replace(text, "CREATE", "DELETE", 1), "operation-not-allowed", 200},
		"no kind":               {strings.Replace(text, `"group":"kyverno.io"`, `"group":""`, 1), "wrong-object", 200},
		"no object":             {`{"operation":"CREATE"}`, "malformed", 200},
		"without end":           {strings.Repeat(" ", guard.MaxReview+1), "too-large", 413},
	} {
		t.Run(name, func(t *testing.T) {
			if a, code := ask(t, h, tc.text); a.Allowed || a.Reason != tc.want || code != tc.code {
				t.Errorf("%d %+v, want %d %s", code, a, tc.code, tc.want)
			}
		})
	}
	w := httptest.NewRecorder()
	h.ServeVerify(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/verify", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
}

// TestAnswer: an answer contains the signer and the expiry, and a rejection contains a hint.
func TestAnswer(t *testing.T) {
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{})
	r := signed(t)
	a, _ := ask(t, h, questionOf(r))
	until := now.Add(hour).UTC().Format(time.RFC3339)
	if a.Signer != `the key "release-key"` || a.Until != until || !strings.HasPrefix(a.Message, "signed by "+a.Signer+" at ") || !strings.HasSuffix(a.Message, ", until "+until) {
		t.Errorf("%+v", a)
	}
	r.Object.Raw = bytes.Replace(r.Object.Raw, []byte("require-probes"), []byte("require-limits"), 1)
	if a, _ = ask(t, h, questionOf(r)); a.Reason != "altered" || !strings.HasSuffix(a.Message, "have the change reviewed and signed") {
		t.Errorf("%+v", a)
	}
}

// TestQuestionsAreObserved: a question is reported as such, also if it cannot be read.
func TestQuestionsAreObserved(t *testing.T) {
	var seen []*guard.Decision
	h := handler(t, inWorld(t).rules(t, guard.Settings{}, nil), guard.Config{Observe: func(d *guard.Decision, _ time.Duration) { seen = append(seen, d) }})
	q := questionOf(signed(t))
	q.User = "argocd"
	ask(t, h, q)
	ask(t, h, "{")
	if len(seen) != 2 || seen[0].Operation != "VERIFY" || seen[0].User != "argocd" || !seen[0].Allowed() || seen[1].Operation != "VERIFY" || seen[1].Reason != "malformed" {
		t.Errorf("%+v", seen)
	}
}

// TestQuestionsShareTheBounds: questions and reviews share turns, and a question without a place is
// denied.
func TestQuestionsShareTheBounds(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	h := handler(t, inWorld(t).rules(t, guard.Settings{MaxPerNamespace: 1}, nil), guard.Config{Deadline: time.Minute, Concurrent: 1, Waiting: 1,
		Count: func(context.Context, exception.GroupKind, string) (int, error) {
			arrived <- struct{}{}
			<-release
			return 0, nil
		}})
	raw, q := body(t, signed(t)), questionOf(signed(t))
	answers := make(chan string)
	go func() {
		response, _ := post(t, h, raw)
		answers <- reasonOf(t, response)
	}()
	<-arrived // it has the turn; of the next two, one waits and one is overloaded
	for range 2 {
		go func() {
			a, code := ask(t, h, q)
			if (code == http.StatusTooManyRequests) != (a.Reason == "overloaded") {
				t.Errorf("%d %+v", code, a)
			}
			answers <- a.Reason
		}()
	}
	if got := <-answers; got != "overloaded" {
		t.Errorf("%q, want overloaded", got)
	}
	go func() { <-arrived }()
	close(release)
	for range 2 {
		if got := <-answers; got != "verified" {
			t.Errorf("%q, want verified", got)
		}
	}
}
