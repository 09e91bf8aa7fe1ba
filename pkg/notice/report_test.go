package notice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/pkg/notice"
)

func report(results ...string) []byte {
	return []byte(`{"apiVersion":"polex.dev/v1alpha1","kind":"Report","tool":{"name":"polex-validate"},"results":[` + strings.Join(results, ",") + `]}`)
}

func result(outcome, file, object, reason string) string {
	return fmt.Sprintf(`{"outcome":%q,"file":%q,"object":%q,"reason":%q,"message":"about %s"}`, outcome, file, object, reason, reason)
}

func TestRefusedIn(t *testing.T) {
	const mongoName = "PolicyException.kyverno.io platform/mongo"
	events, err := notice.RefusedIn(report(
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
	if e.Kind != notice.Refused || e.Verified || e.Identity != mongo || e.Refusal != "wildcard-rule, no-expiry" || e.File != "unsigned/mongo.yaml" {
		t.Errorf("it is %+v", e)
	}
	if events[1].Marker() == events[2].Marker() {
		t.Error("two files without a name have one marker")
	}
	if got := notice.Markdown(events[1]); !strings.Contains(got, "- Exception: `unsigned/bad.yaml`\n") {
		t.Errorf("it is %s", got)
	}
}

func TestNoReport(t *testing.T) {
	var many []string
	for i := range 101 {
		many = append(many, result("refused", fmt.Sprintf("unsigned/%d.yaml", i), "", "malformed"))
	}
	for name, raw := range map[string][]byte{
		"nothing":   nil,
		"text":      []byte("signed"),
		"a list":    []byte("[]"),
		"another":   []byte(`{"apiVersion":"v1","kind":"Report"}`),
		"no report": []byte(`{"apiVersion":"polex.dev/v1alpha1","kind":"Notice"}`),
		"too many":  report(many...),
	} {
		if events, err := notice.RefusedIn(raw); err == nil {
			t.Errorf("%s: %+v", name, events)
		}
	}
}
