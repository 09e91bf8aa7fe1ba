package trust

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/polex-dev/polex/pkg/trust/policyfile"
)

// inWords are sentences about a certificate with a claim, in the order in which they read best.
var inWords = []struct{ claim, sentence string }{
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

// Explain describes in words which signatures count for the authority, and its limits.
// warnings name the ways in which somebody else could become the signer.
func (a *Authority) Explain() (accepts, warnings []string) {
	say := func(format string, args ...any) { accepts = append(accepts, fmt.Sprintf(format, args...)) }
	switch {
	case a.key != nil:
		say("a signature of the public key sha256:%x", a.key.fingerprint)
		if a.withoutLog {
			say("with or without an entry in a transparency log")
		}
	default:
		say("a certificate that Fulcio issued for a token of %s", a.issuer)
	}
	if a.subject != nil && a.subject.Pattern != nil {
		say("its subject matches %s", a.subject.Pattern)
	} else if a.subject != nil {
		say("its subject is %s", whole(a.subject.Exact))
	}
	described := map[string]bool{}
	for _, words := range inWords {
		if want, required := a.claims[words.claim]; required {
			say(words.sentence, whole(want))
			described[words.claim] = true
		}
	}
	for _, name := range policyfile.Claims {
		if want, required := a.claims[name]; required && !described[name] {
			say("its claim %s is %s", name, whole(want))
		}
	}
	if a.commit {
		say("the commit of the run contains the exception; promotion and audit check it")
	}
	accepts = append(accepts, a.explainLimits()...)
	return accepts, a.weak()
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

func (a *Authority) explainLimits() (limits []string) {
	l := &a.limits
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
			limits = append(limits, limit.text)
		}
	}
	return limits
}

// weak returns warnings for a keyless identity of a workflow.
func (a *Authority) weak() (warnings []string) {
	has := a.Requires
	if a.issuer == "" || a.subject.Type != policyfile.TypeURI {
		return nil
	}
	if !has("sourceRepositoryIdentifier") {
		warnings = append(warnings, "the repository has a name and no number: a later owner of the name could sign. "+
			"Add github.repositoryID, or the claim sourceRepositoryIdentifier")
	}
	workflow := a.subject.Exact.String()
	if a.subject.Pattern != nil {
		workflow = a.subject.Pattern.String()
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
