package trust

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// claimSentences are sentences about a certificate with a claim, in the order in which they read best.
var claimSentences = []struct{ claim, sentence string }{
	{"sourceRepositoryURI", "the run is in the repository %s"},
	{"sourceRepositoryIdentifier", "the number of the repository is %s"},
	{"sourceRepositoryOwnerURI", "the owner of the repository is %s"},
	{"sourceRepositoryOwnerIdentifier", "the number of the owner is %s"},
	{"sourceRepositoryRef", "the run is on %s"},
	{"buildConfigURI", "the run is of the workflow %s"},
	{"buildTrigger", "the event %s started the run"},
	{"deploymentEnvironment", "the job is in the environment %s"},
	{"runnerEnvironment", "the runner is %s"},
	{"tokenSubject", "the sub of the token is %s"},
}

// explain describes in words which signatures count for the authority, and its limits.
// warnings name the ways in which somebody else could become the signer.
func explain(a *trust.Authority) (accepts, warnings []string) {
	issuer, subject, claims := a.Keyless()
	say := func(format string, args ...any) { accepts = append(accepts, fmt.Sprintf(format, args...)) }
	switch {
	case a.Key() != nil:
		say("a signature of the %s", a)
		if a.WithoutLog() {
			say("with or without an entry in a transparency log")
		}
	default:
		say("a certificate that Fulcio issued for a token of %s", issuer)
	}
	if subject != nil && subject.Pattern != nil {
		say("its subject matches %s", subject.Pattern)
	} else if subject != nil {
		say("its subject is %s", whole(subject.Exact))
	}
	described := map[string]bool{}
	for _, words := range claimSentences {
		if want, required := claims[words.claim]; required {
			say(words.sentence, whole(want))
			described[words.claim] = true
		}
	}
	for _, name := range policyfile.Claims {
		if want, required := claims[name]; required && !described[name] {
			say("its claim %s is %s", name, whole(want))
		}
	}
	if a.RequiresCommit() {
		say("the commit of the run contains the exception; promotion and audit check it")
	}
	return append(accepts, limits(a.Limits())...), weak(a)
}

// whole lists all values. A value that is not one word is in quotes, because "a or b" can be a value.
func whole(o policyfile.OneOf) string {
	values := o.Values()
	for i, value := range values {
		if strings.ContainsFunc(value, func(r rune) bool {
			return unicode.IsSpace(r) || r == '"' ||
				!unicode.IsGraphic(r)
		}) {
			values[i] = strconv.Quote(value)
		}
	}
	return strings.Join(values, " or ")
}

func limits(l policyfile.Limits) (texts []string) {
	for _, limit := range []struct {
		set  bool
		text string
	}{
		{l.Kinds != nil, fmt.Sprintf("it may sign the kinds %s", l.KindNames)},
		{l.Namespaces != nil, fmt.Sprintf("it may sign exceptions in the namespaces %s", l.Namespaces)},
		{l.Exempted != nil, fmt.Sprintf("they may exempt resources in the namespaces %s", l.Exempted)},
		{l.Policies != nil, fmt.Sprintf("they may name the policies %s", l.Policies)},
	} {
		if limit.set {
			texts = append(texts, limit.text)
		}
	}
	return texts
}

// weak returns warnings for a keyless identity of a workflow.
func weak(a *trust.Authority) (warnings []string) {
	issuer, subject, _ := a.Keyless()
	has := a.Requires
	if issuer == "" || subject.Type != policyfile.TypeURI {
		return nil
	}
	if !has("sourceRepositoryIdentifier") {
		warnings = append(warnings, "the repository has a name and no number: a later owner of the name could sign. "+
			"Add github.repositoryID, or the claim sourceRepositoryIdentifier")
	}
	workflow := subject.Exact.String()
	if subject.Pattern != nil {
		workflow = subject.Pattern.String()
	}
	switch {
	case !strings.Contains(workflow, "/workflows/") || has("buildConfigURI"):
	case !has("sourceRepositoryURI") && !has("sourceRepositoryIdentifier"):
		warnings = append(warnings, "another repository can call this workflow, and its run has the same subject. "+
			"Add github.repository, or the claim sourceRepositoryURI")
	case !has("sourceRepositoryRef") && !has("githubWorkflowRef"):
		warnings = append(warnings, "a workflow on another branch can call this workflow, and its run has the same "+
			"subject. Add github.ref, or the claim sourceRepositoryRef")
	}
	return warnings
}

// lifetimes describes in words how long an exception may last, and what a renewal needs.
func lifetimes(r *policyfile.Rules) (lines []string) {
	say := func(set bool, format string, args ...any) {
		if set {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	say(r.Unbounded, "an exception needs no expiry")
	say(r.Longest > 0, "an exception may last %s", lifetime.FormatDuration(r.Longest))
	for _, l := range r.Lifetimes {
		var of []string
		for _, selector := range []struct {
			name  string
			names policyfile.Names
		}{
			{"signed by ", l.Authorities}, {"from the policies ", l.Documents.Policies},
			{"in the namespaces ", l.Documents.Namespaces}, {"that exempts in the namespaces ", l.Documents.Exempted},
			{"of the kinds ", l.Documents.KindNames},
		} {
			if selector.names != nil {
				of = append(of, selector.name+selector.names.String())
			}
		}
		say(true, "one %s: %s", strings.Join(of, ", "), lifetime.FormatDuration(l.Max))
	}
	n := &r.Renewals
	say(n.MaxLifetime > 0, "a renewal may last %s", lifetime.FormatDuration(n.MaxLifetime))
	say(n.Max > 0, "an exception may be renewed %d times in a row", n.Max)
	say(len(n.Require) > 0, "a renewal states %s", policyfile.Names(n.Require))
	say(n.Approvals > 0, "a renewal has %d approvals", n.Approvals)
	say(n.NewApprover, "one of them by a person who did not approve its predecessor")
	return lines
}
