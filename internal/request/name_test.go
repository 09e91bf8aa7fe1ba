package request_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/shape"
)

var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// TestNames: a name depends only on the exemption, not on the requester and the statements.
func TestNames(t *testing.T) {
	known := shape.ReadPolicies(parse(t, policies))
	name := func(v request.Violation, s request.Statements) string {
		t.Helper()
		drafts, problems, err := request.New([]request.Violation{v}, request.Options{Policies: known, Statements: s, Namespace: "exceptions"})
		if err != nil || len(drafts) != 1 {
			t.Fatal(problems, err)
		}
		strict(t, drafts[0], known)
		id := drafts[0].Document.Identity()
		if !label.MatchString(id.Name) || id.Namespace != "exceptions" {
			t.Errorf("%s is no plain name in exceptions", id)
		}
		return id.Name
	}
	first := name(of("probes", "autogen-check", "Deployment", "team-a", "web"), said)
	if !strings.HasPrefix(first, "web-probes-") {
		t.Errorf("%s does not say what it is about", first)
	}
	if again := name(of("probes", "autogen-check", "Deployment", "team-a", "web"), request.Statements{Reason: "another", Ticket: "SEC-1", Owner: "team-b", ExpiresIn: "1h"}); again != first {
		t.Errorf("%s, and %s when it is asked for again", first, again)
	}
	met := map[string]bool{first: true}
	for _, v := range []request.Violation{
		of("probes", "autogen-tag", "Deployment", "team-a", "web"), of("probes", "autogen-check", "Deployment", "team-b", "web"), of("probes", "autogen-check", "StatefulSet", "team-a", "web"),
		of("probes", "replicas", "Deployment", "team-a", "web"), of("readiness", "", "Deployment", "team-a", "web"),
		of("roles", "check", "ClusterRole", "", "System:Node_"+strings.Repeat("x", 100)+"y"), of("probes", "check", "Pod", "team-a", strings.Repeat("a", 23)+"-"+strings.Repeat("b", 100)),
	} {
		n := name(v, said)
		if met[n] {
			t.Errorf("%s is the name of another, too", n)
		}
		met[n] = true
	}
}

func TestTooMany(t *testing.T) {
	if _, _, err := request.New(make([]request.Violation, request.MaxViolations+1), request.Options{}); err == nil {
		t.Error("more than are taken in")
	}
	if _, _, err := request.New(nil, request.Options{Namespace: "*"}); err == nil {
		t.Error("a namespace that is none")
	}
}
