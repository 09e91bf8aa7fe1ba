package notify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/notify"
)

func report(results ...string) []byte {
	return []byte(`{"apiVersion":"polex.dev/v1alpha1","kind":"Report","tool":{"name":"polex-validate"},"results":[` + strings.Join(results, ",") + `]}`)
}

func result(outcome, file, object, reason string) string {
	return fmt.Sprintf(`{"outcome":%q,"file":%q,"object":%q,"reason":%q,"message":"about %s"}`, outcome, file, object, reason, reason)
}

func TestRefusedIn(t *testing.T) {
	const mongoName = "PolicyException.kyverno.io platform/mongo"
	events, err := notify.RefusedIn(report(
		result("refused", "unsigned/mongo.yaml", mongoName, "wildcard-rule"),
		result("refused", "unsigned/mongo.yaml", mongoName, "no-expiry"),
		result("refused", "unsigned/mongo.yaml", mongoName, "no-expiry"),
		result("warning", "unsigned/redis.yaml", "PolicyException.kyverno.io platform/redis", "many-rules"),
		result("passed", "unsigned/one.yaml", "PolicyException.kyverno.io platform/one", "valid"),
		result("refused", "unsigned/bad.yaml", "", "malformed"),
		result("refused", "unsigned/worse.yaml", "", "malformed")))
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 3 {
		t.Fatalf("%d events: %+v", len(events), events)
	}
	e := events[0]
	if e.Kind != notify.Refused || e.Verified || e.Identity != mongo || e.Refusal != "wildcard-rule, no-expiry" || e.File != "unsigned/mongo.yaml" {
		t.Errorf("it is %+v", e)
	}
	if events[1].Marker() == events[2].Marker() {
		t.Error("two files without a name have one marker")
	}
	if got := notify.Markdown(events[1]); !strings.Contains(got, "- Exception: `unsigned/bad.yaml`\n") {
		t.Errorf("it is %s", got)
	}
}

// No rejection is omitted. Of many messages about one exception, only the first ones are included.
func TestManyRefused(t *testing.T) {
	var many []string
	for i := range 301 {
		many = append(many, result("refused", fmt.Sprintf("unsigned/%d.yaml", i), "", "malformed"))
	}
	for range 100 {
		many = append(many, result("refused", "unsigned/0.yaml", "", "malformed"))
	}
	events, err := notify.RefusedIn(report(many...))
	if err != nil || len(events) != 301 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if detail := events[0].Detail; strings.Count(detail, "about malformed") != 20 || !strings.HasSuffix(detail, "; and more") {
		t.Errorf("it says %q", detail)
	}
	named := map[string]bool{}
	for _, s := range notify.Summarize(events) {
		if len(s.Members) > notify.MaxMembers || s.Kind != notify.Refused || s.Verified {
			t.Errorf("a summary of %d, %s, verified %t", len(s.Members), s.Kind, s.Verified)
		}
		text := notify.Markdown(s)
		if !strings.HasPrefix(text, s.Marker()+"\n") || named[s.Marker()] || !strings.Contains(text, "No signature covers this text") {
			t.Errorf("it is %.200s", text)
		}
		named[s.Marker()] = true
		for _, m := range s.Members {
			if !strings.Contains(text, "`"+m.File+": malformed`") {
				t.Errorf("%s is not in %.200s", m.File, text)
			}
			named[m.File] = true
		}
		if raw, err := notify.Slack(s); err != nil || !strings.Contains(string(raw), s.Members[0].File) || len(raw) > 28<<10 {
			t.Errorf("%v, %d bytes: %.200s", err, len(raw), raw)
		}
	}
	if len(named) != 301+13 {
		t.Errorf("%d are named", len(named))
	}
}

// The events in a summary have the same kind, verification and destination.
func TestSummarize(t *testing.T) {
	one := notify.Event{Kind: notify.Signed, Verified: true, Identity: mongo, PullRequest: "https://github.com/acme/exceptions/pull/1", ExpiresAt: now}
	other, forged, ended := one, one, one
	other.PullRequest, forged.Verified, ended.Kind = "https://github.com/acme/exceptions/pull/2", false, notify.Ended
	got := notify.Summarize([]notify.Event{one, other, forged, ended, one})
	if len(got) != 4 || len(got[0].Members) != 2 || got[0].PullRequest != one.PullRequest || !got[0].Verified || got[2].Verified || got[3].Kind != notify.Ended {
		t.Errorf("%+v", got)
	}
	if got[0].Name() != "2 exceptions" || got[0].ID() == got[1].ID() {
		t.Errorf("%q, %q and %q", got[0].Name(), got[0].ID(), got[1].ID())
	}
}

func TestNoReport(t *testing.T) {
	for name, raw := range map[string][]byte{
		"nothing":   nil,
		"text":      []byte("signed"),
		"a list":    []byte("[]"),
		"another":   []byte(`{"apiVersion":"v1","kind":"Report"}`),
		"no report": []byte(`{"apiVersion":"polex.dev/v1alpha1","kind":"Notice"}`),
	} {
		if events, err := notify.RefusedIn(raw); err == nil {
			t.Errorf("%s: %+v", name, events)
		}
	}
}
