package translate_test

import (
	"slices"
	"testing"

	"github.com/polex-dev/polex/pkg/shape"
	"github.com/polex-dev/polex/test/expect"
)

// TestTranslationsReachTheGuardAlike: ReachesGuard recognises the coverage of a translation as well
// as that of its source.
func TestTranslationsReachTheGuardAlike(t *testing.T) {
	for match, want := range map[string]bool{
		"{any: [{resources: {kinds: [Pod]}}]}":                                                                              false,
		"{any: [{resources: {kinds: [Pod], names: [web-*, api]}}]}":                                                         false,
		"{any: [{resources: {kinds: [Pod, 'apps/*/Deploy*'], namespaces: [team-a, 'team-?-*']}}]}":                          false,
		"{any: [{resources: {namespaces: [argocd]}}]}":                                                                      false,
		"{any: [{resources: {namespaces: [argocd, 'argo-*'], names: ['*-server']}}]}":                                       false,
		"{any: [{resources: {kinds: [Namespace, Pod], namespaces: [team-a]}}]}":                                             false,
		"{any: [{resources: {kinds: [Pod], selector: {matchLabels: {app: web}}}}]}":                                         false,
		"{any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: a}}}}]}":                                 false,
		"{all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [team-a]}}]}":                                         false,
		"{any: [{resources: {kinds: [Pod], namespaces: [team-a]}}, {resources: {kinds: [batch/v1/Job], names: ['web?']}}]}": false,
		"{any: [{resources: {kinds: [Pod], namespaces: [kyverno]}}]}":                                                       true,
		"{any: [{resources: {kinds: [Pod], namespaces: ['kyv*']}}]}":                                                        true,
		"{any: [{resources: {kinds: ['Policy*'], namespaces: [team-a]}}]}":                                                  true,
		"{any: [{resources: {kinds: [Namespace], names: ['kyv*']}}]}":                                                       true,
	} {
		source := "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: a, namespace: b}\nspec:\n  exceptions: [{policyName: require-probes, ruleNames: [check]}]\n  match: " + match + "\n"
		text, notes, err := translated(t, source, whole)
		if err != nil || len(notes) > 0 {
			t.Errorf("%s: %v %v", match, notes, err)
			continue
		}
		for _, one := range []string{source, text} {
			reaches := func(f shape.Finding) bool { return f.Reason == shape.ReasonReachesGuard }
			expect.Is(t, one, want, slices.ContainsFunc(checked(t, one), reaches))
		}
	}
}
