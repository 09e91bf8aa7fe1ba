package adopt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/lifetime"
)

// configName is the name of the configuration at the root of a repository.
const configName = ".polex.yaml"

// config writes the configuration. eased contains the reasons that become warnings, with the number
// of adopted exceptions that each would reject as an error.
func (r *repository) config(plan *Plan, adopted []*candidate, longest time.Duration, eased map[string]int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by polex adopt. How to tighten it: "+
		"https://github.com/polex-dev/polex/blob/main/docs/how-to/adopt.md\n"+
		"apiVersion: polex.dev/v1alpha1\nkind: Config\ndirectories:\n  unsigned: %+q\n  signed: %+q\n",
		r.options.Unsigned, r.options.Signed)
	trust, note := r.trust(longest)
	if note != "" {
		plan.Notes = append(plan.Notes, note)
	}
	b.WriteString(trust)
	b.WriteString(statements(adopted))
	b.WriteString("shape:\n  preset: baseline\n")
	if len(eased) > 0 {
		b.WriteString("  checks:\n")
	}
	for _, reason := range slices.Sorted(maps.Keys(eased)) {
		fmt.Fprintf(&b, "    %s: warning # an error would refuse %s; remove this line later\n", reason,
			count(eased[reason], "adopted exception"))
	}
	return []byte(b.String())
}

// statementEnds match the last part of keys under which teams state a reason, ticket or owner.
var statementEnds = []struct {
	name string
	end  *regexp.Regexp
}{
	{"reason", regexp.MustCompile(`(?i)(^|[/._-])(reason|justification|rationale|description)$`)},
	{"ticket", regexp.MustCompile(`(?i)(^|[/._-])(ticket|jira|issue)$`)},
	{"owner", regexp.MustCompile(`(?i)(^|[/._-])(owner|team|contact)$`)},
}

// statements writes the section with the keys under which exceptions state a reason, ticket or
// owner.
func statements(adopted []*candidate) string {
	own := map[string]bool{}
	for _, c := range adopted {
		for _, field := range []string{"annotations", "labels"} {
			for key := range mapping(c.object, "metadata", field) {
				own[key] = lifetime.CheckKey(key) == nil
			}
		}
	}
	section := ""
	for _, s := range statementEnds {
		var found []string
		for _, key := range slices.Sorted(maps.Keys(own)) {
			if own[key] && s.end.MatchString(key) {
				found = append(found, key)
			}
		}
		if found != nil {
			section += fmt.Sprintf("  %s: [%s]\n", s.name, quoted(found))
		}
	}
	if section != "" {
		section = "statements: # keys that adopted exceptions have\n" + section
	}
	return section
}

// quoted writes the entries of a list.
func quoted(texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = fmt.Sprintf("%+q", text)
	}
	return strings.Join(all, ", ")
}

// trust writes the section that names the trusted signer, if the forge is known.
func (r *repository) trust(longest time.Duration) (section, note string) {
	name := repositoryOf(r.options.Origin)
	host, project, ok := strings.Cut(name, "/")
	if at := strings.Index(strings.ToLower(r.options.Origin), project); at >= 0 {
		project = r.options.Origin[at : at+len(project)] // with the case of the address: certificates keep it
	}
	branch := r.options.Branch
	if branch == "" {
		branch, note = "main", "the default branch is not known from origin/HEAD: the trusted signer in "+configName+
			" names main"
	}
	issuer, subject, claim := "", "", ""
	switch {
	case !ok || project == "":
	case host == "github.com":
		issuer, claim = "https://token.actions.githubusercontent.com", "gh api repos/"+project+" --jq .id"
		subject = fmt.Sprintf("https://github.com/%s/.github/workflows/merge.yaml@refs/heads/%s", project, branch)
	case host == "gitlab.com":
		issuer, claim = "https://gitlab.com", "the project ID on the page of the project"
		subject = fmt.Sprintf("https://gitlab.com/%s//.gitlab-ci.yml@refs/heads/%s", project, branch)
	}
	rules := fmt.Sprintf("trust:\n  maxLifetime: %s # the furthest expiry; lower it when that has passed\n",
		days(longest))
	if keys := r.options.Shape.Rules.Terms.Keys; len(keys) > 0 {
		rules += fmt.Sprintf("  expiryKeys: [%s]\n", quoted(keys))
	}
	if issuer == "" {
		return rules + "  # Name the trusted signer under authorities: " +
				"https://github.com/polex-dev/polex/blob/main/docs/reference/trust.md\n",
			"the trusted signer is not known from the remote origin: add trust.authorities to " + configName
	}
	return rules + fmt.Sprintf(`  authorities:
    - name: merge-workflow
      issuer: %s
      subject: %+q
      # A repository that takes over the name later has another ID. Write yours here (%s):
      # claims: {sourceRepositoryIdentifier: "123456789"}
`, issuer, subject, claim), note
}

// repositoryOf returns the host and path of a Git address, in lower case. The https, ssh and scp
// forms of an address give the same result.
func repositoryOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	} else {
		url = strings.Replace(url, ":", "/", 1)
	}
	host, rest, _ := strings.Cut(url, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	host, _, _ = strings.Cut(host, ":")
	return strings.ToLower(host + "/" + strings.TrimSuffix(strings.Trim(rest, "/"), ".git"))
}
