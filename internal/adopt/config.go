package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/lifetime"
)

const (
	configName = ".polex.yaml" // at the root of a repository
	pages      = "https://github.com/polex-dev/polex/blob/main/docs/"
)

// config writes the configuration. eased contains the reasons that become warnings, with the number
// of adopted exceptions that each would reject as an error.
func (a *adoption) config(adopted []*candidate, eased map[string]int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# Written by polex adopt. How to tighten it: %s
apiVersion: polex.dev/v1alpha1
kind: Config
directories:
  unsigned: %+q
  signed: %+q
trust:
  maxLifetime: %s # the furthest expiry; lower it when that has passed
`, pages+"how-to/adopt.md", a.Unsigned, a.Signed, lifetime.FormatDuration(a.longest(adopted)))
	if keys := a.Shape.Rules.Terms.Keys; len(keys) > 0 {
		fmt.Fprintf(&b, "  expiryKeys: %s\n", quoted(keys))
	}
	b.WriteString(a.authority())
	b.WriteString(statements(adopted))
	b.WriteString("shape:\n  preset: baseline\n")
	if len(eased) > 0 {
		b.WriteString("  checks:\n")
	}
	for _, reason := range slices.Sorted(maps.Keys(eased)) {
		fmt.Fprintf(&b, "    %s: warning # an error would refuse %s; remove this line later\n", reason,
			plain.Count(eased[reason], "adopted exception", "adopted exceptions"))
	}
	return []byte(b.String())
}

// authorities are the trusted signers of the forges.
var authorities = map[string]string{"github.com": `
      github:
        repository: PROJECT
        # A repository that takes over the name later has another ID. Write yours here (gh api repos/PROJECT --jq .id):
        # repositoryID: 123456789
        workflow: .github/workflows/merge.yaml
        ref: refs/heads/BRANCH
`, "gitlab.com": `
      issuer: https://gitlab.com
      subject: https://gitlab.com/PROJECT//.gitlab-ci.yml@refs/heads/BRANCH
      claims:
        sourceRepositoryURI: https://gitlab.com/PROJECT
        # A project that takes over the name later has another ID. Write yours here (the page of the project has it):
        # sourceRepositoryIdentifier: "123456789"
        sourceRepositoryRef: refs/heads/BRANCH
`}

// plainNames matches a project and a branch that YAML reads as text.
var plainNames = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_./-]+ [A-Za-z0-9_./-]+$`)

// authority writes the trusted signer, if the forge is known.
func (a *adoption) authority() string {
	host, project, _ := strings.Cut(repositoryOf(a.Origin), "/")
	branch := cmp.Or(a.Branch, "main")
	if authorities[host] == "" || !plainNames.MatchString(project+" "+branch) {
		a.plan.note(configName, "the trusted signer is not known from the remote origin: add trust.authorities")
		return "  # Name the trusted signer under authorities: " + pages + "reference/trust.md\n"
	}
	if a.Branch == "" {
		a.plan.note(configName, "the default branch is not known from origin/HEAD: the trusted signer names main")
	}
	return "  authorities:\n    - name: merge-workflow" +
		strings.NewReplacer("PROJECT", project, "BRANCH", branch).Replace(authorities[host])
}

// repositoryOf returns the host in lower case and the path of a Git address. The https, ssh and scp forms of an
// address give the same result.
func repositoryOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	} else {
		url = strings.Replace(url, ":", "/", 1)
	}
	host, project, _ := strings.Cut(url, "/")
	host, _, _ = strings.Cut(host[strings.LastIndex(host, "@")+1:], ":")
	return strings.ToLower(host) + "/" + strings.TrimSuffix(strings.Trim(project, "/"), ".git")
}

// statements writes the section with the keys under which exceptions state a reason, ticket or
// owner.
func statements(adopted []*candidate) (section string) {
	own := map[string]bool{}
	for _, c := range adopted {
		for _, field := range []string{"annotations", "labels"} {
			for key := range mapping(c.object, "metadata", field) {
				if lifetime.CheckKey(key) == nil {
					own[key] = true
				}
			}
		}
	}
	for _, s := range []struct{ name, ends string }{
		{"reason", "reason|justification|rationale|description"}, {"ticket", "ticket|jira|issue"},
		{"owner", "owner|team|contact"}} {
		isKey := regexp.MustCompile(`(?i)(^|[/._-])(` + s.ends + `)$`)
		keys := slices.Sorted(maps.Keys(own))
		keys = slices.DeleteFunc(keys, func(key string) bool { return !isKey.MatchString(key) })
		if len(keys) > 0 {
			section += fmt.Sprintf("  %s: %s\n", s.name, quoted(keys))
		}
	}
	if section != "" {
		section = "statements: # keys that adopted exceptions have\n" + section
	}
	return section
}

// quoted writes a list of keys.
func quoted(keys []string) string { return strings.ReplaceAll(fmt.Sprintf("%+q", keys), `" "`, `", "`) }
