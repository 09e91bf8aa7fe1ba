package lifetime_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/lifetime"
	"github.com/polex-dev/polex/pkg/exception"
)

// TestCron: the minute of the expiry in UTC, never an earlier one.
func TestCron(t *testing.T) {
	for _, tc := range []struct{ end, want string }{
		{"2026-12-31T17:00:00Z", "0 17 31 12 *"},
		{"2026-12-31T17:00:01Z", "1 17 31 12 *"},
		{"2026-12-31T23:59:01Z", "0 0 1 1 *"},
		{"2026-12-31T23:59:00.000000001Z", "0 0 1 1 *"},
		{"2026-12-31T17:00:00-08:00", "0 1 1 1 *"},
		{"2027-01-01T00:30:00+01:00", "30 23 31 12 *"},
		// Months of every length, with and without a leap day.
		{"2027-02-28T23:59:30Z", "0 0 1 3 *"},
		{"2028-02-28T23:59:30Z", "0 0 29 2 *"},
		{"2028-02-29T23:59:30Z", "0 0 1 3 *"},
		{"2028-03-01T00:30:00+01:00", "30 23 29 2 *"},
		{"2027-04-30T23:59:30Z", "0 0 1 5 *"},
		{"2100-02-28T23:59:30Z", "0 0 1 3 *"}, // not a leap year
		// A clock change skips or repeats an hour, but not in UTC.
		{"2026-03-29T02:30:00+01:00", "30 1 29 3 *"},
		{"2026-10-25T02:30:00+02:00", "30 0 25 10 *"},
		{"2026-10-25T02:30:00+01:00", "30 1 25 10 *"},
	} {
		if got := lifetime.Cron(at(tc.end)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.end, got, tc.want)
		}
	}
}

// ending returns an exception with a namespace and an expiry.
func ending(t *testing.T, group, metadata, end string) *exception.Document {
	t.Helper()
	text := fmt.Sprintf("apiVersion: kyverno.io/v2beta1\nkind: PolicyException\nmetadata: {%s, annotations: {polex.dev/expires-at: %q}}\nspec: {}\n", metadata, end)
	if group == "new" {
		text = fmt.Sprintf("apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {%s}\nspec: {expiresAt: %q}\n", metadata, end)
	}
	doc, err := exception.Parse([]byte(text), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestCleanupPolicy: a policy contains the object, its version and its stated expiry, and is valid
// YAML. The tests in test/e2e/cleanup run it in Kyverno.
func TestCleanupPolicy(t *testing.T) {
	const end = "2027-02-28T23:59:30+02:00"
	for _, tc := range []struct {
		group string
		form  lifetime.CleanupForm
		says  []string
	}{
		{"old", lifetime.DeletingPolicy, []string{"apiGroups: [kyverno.io]", "apiVersions: [v2beta1]",
			"object.metadata.annotations['polex.dev/expires-at'] == '" + end + "'", "time.now() >= timestamp('2027-02-28T21:59:30Z')"}},
		{"new", lifetime.DeletingPolicy, []string{"apiGroups: [policies.kyverno.io]", "apiVersions: [v1]",
			"object.spec.expiresAt == '" + end + "'", "time.now() >= timestamp('2027-02-28T21:59:30Z')"}},
		{"old", lifetime.ClusterCleanupPolicy, []string{"kinds: [kyverno.io/v2beta1/PolicyException]",
			`(target.metadata.annotations.\"polex.dev/expires-at\" || '') == '` + end + "'", "!time_before(time_now_utc(), '2027-02-28T21:59:30Z')"}},
		{"new", lifetime.ClusterCleanupPolicy, []string{"kinds: [policies.kyverno.io/v1/PolicyException]",
			"(target.spec.expiresAt || '') == '" + end + "'", "!time_before(time_now_utc(), '2027-02-28T21:59:30Z')"}},
	} {
		t.Run(tc.group+" "+string(tc.form), func(t *testing.T) {
			text, err := lifetime.CleanupPolicy(ending(t, tc.group, "name: mongo, namespace: team-a", end), tc.form, lifetime.Terms{}, at("2026-11-01T00:00:00Z"))
			if err != nil {
				t.Fatal(err)
			}
			doc, err := exception.Parse(text, "policy")
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if doc.GroupKind().Kind != string(tc.form) || doc.Text("spec", "schedule") != "0 22 28 2 *" {
				t.Errorf("it is\n%s", text)
			}
			for _, say := range append(tc.says, "team-a", "mongo") {
				if !strings.Contains(string(text), say) {
					t.Errorf("it does not say %q:\n%s", say, text)
				}
			}
		})
	}
}

// policyName matches policy names that Kyverno allows.
var policyName = regexp.MustCompile(`^polex-[a-z0-9]+([-.][a-z0-9]+)*$`)

// TestCleanupPolicyNames: each exception has its own valid policy name.
func TestCleanupPolicyNames(t *testing.T) {
	met := map[string]string{}
	long := strings.Repeat("a", 200)
	for _, tc := range [][2]string{
		{"old", "name: b-c, namespace: a"}, {"old", "name: c, namespace: a-b"}, {"new", "name: c, namespace: a-b"}, {"old", "name: " + long + ", namespace: a"}, {"old", "name: " + long + "a, namespace: a"},
		{"old", "name: " + long[:31] + "." + long + ", namespace: a"},
	} {
		text, err := lifetime.CleanupPolicy(ending(t, tc[0], tc[1], "2027-01-01T00:00:00Z"), lifetime.DeletingPolicy, lifetime.Terms{}, at("2026-11-01T00:00:00Z"))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := exception.Parse(text, "policy")
		if err != nil {
			t.Fatal(err)
		}
		name := doc.Text("metadata", "name")
		if other, again := met[name]; again || len(name) > 63 || !policyName.MatchString(name) {
			t.Errorf("%q is %q, and so is %q", tc, name, other)
		}
		met[name] = tc[1]
	}
}

// TestNoCleanupPolicy: an exception without a valid name or a future expiry has no policy.
func TestNoCleanupPolicy(t *testing.T) {
	const name, end = "name: a, namespace: b", "2027-01-01T00:00:00Z"
	for _, tc := range []struct{ what, metadata, end, now, wrong string }{
		{"no name", "namespace: b", end, "2026-11-01T00:00:00Z", "metadata.name"},
		{"a name that ends a text", `name: "a' || true || '", namespace: b`, end, "2026-11-01T00:00:00Z", "metadata.name"},
		{"a name that is a pattern", `name: "*", namespace: b`, end, "2026-11-01T00:00:00Z", "metadata.name"},
		{"a name with a line", `name: "a\nb", namespace: b`, end, "2026-11-01T00:00:00Z", "metadata.name"},
		{"no namespace", "name: a", end, "2026-11-01T00:00:00Z", "metadata.namespace"},
		{"a namespace that is a variable", `name: a, namespace: "{{b}}"`, end, "2026-11-01T00:00:00Z", "metadata.namespace"},
		{"an empty end", name, "", "2026-11-01T00:00:00Z", `metadata.annotations["polex.dev/expires-at"]`},
		{"no time", name, "soon", "2026-11-01T00:00:00Z", `metadata.annotations["polex.dev/expires-at"]`},
		{"its end has come", name, end, end, `metadata.annotations["polex.dev/expires-at"]`},
		{"its end has been", name, end, "2027-11-01T00:00:00Z", `metadata.annotations["polex.dev/expires-at"]`},
	} {
		t.Run(tc.what, func(t *testing.T) {
			text, err := lifetime.CleanupPolicy(ending(t, "old", tc.metadata, tc.end), lifetime.DeletingPolicy, lifetime.Terms{}, at(tc.now))
			wrongAt(t, err, tc.wrong)
			if text != nil {
				t.Errorf("there is one:\n%s", text)
			}
		})
	}
	_, err := lifetime.CleanupPolicy(labelled(t, "old", "", "", ""), lifetime.DeletingPolicy, lifetime.Terms{}, at("2026-11-01T00:00:00Z"))
	wrongAt(t, err, "metadata.namespace")
	endless, err := exception.FromObject(map[string]any{"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "metadata": map[string]any{"name": "a", "namespace": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = lifetime.CleanupPolicy(endless, lifetime.DeletingPolicy, lifetime.Terms{}, at("2026-11-01T00:00:00Z"))
	wrongAt(t, err, "metadata")
	versioned, err := exception.Parse(bytes.Replace(ending(t, "old", name, end).Source(), []byte("kyverno.io/v2beta1"), []byte(`"kyverno.io/v2], x: ["`), 1), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = lifetime.CleanupPolicy(versioned, lifetime.DeletingPolicy, lifetime.Terms{}, at(end).Add(-time.Hour))
	wrongAt(t, err, "apiVersion")
	if _, err := lifetime.CleanupPolicy(ending(t, "old", name, end), "", lifetime.Terms{}, at(end).Add(-time.Hour)); err == nil {
		t.Error("a policy of no kind")
	}
}
