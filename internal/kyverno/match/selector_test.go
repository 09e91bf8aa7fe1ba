package match

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/kyverno/wildcard"
	"github.com/polex-dev/polex/test/expect"
)

// FuzzSelector compares selectors without patterns with those of Kubernetes.
func FuzzSelector(f *testing.F) {
	f.Add("app", "In", "web", "api", "app", "web", "tier", "gold")
	f.Add("example.com/app", "NotIn", "web", "", "a", "", "example.com/app", "web")
	f.Add("-app", "Exists", "", "", "app", "web", "app", "web")
	f.Add("app", "DoesNotExist", "", "", "tier", "gold", "tier", "gold")
	f.Add("UP/app", "In", "we b", "x", "a/b/c", "-", "a", "b")
	f.Fuzz(func(t *testing.T, key, operator, first, second, labelled, value, own, ownValue string) {
		if wildcard.In(labelled) || wildcard.In(value) {
			return
		}
		var values []string
		var items []kyverno.Located
		for _, v := range []string{first, second} {
			if v != "" {
				values, items = append(values, v), append(items, kyverno.Located{Text: v})
			}
		}
		theirs, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{
			MatchLabels:      map[string]string{labelled: value},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOperator(operator), Values: values}},
		})
		object := map[string]string{own: ownValue}
		want := err == nil && theirs.Matches(labels.Set(object))
		ours := selectorOf(&kyverno.Selector{
			Labels:      map[string]string{labelled: value},
			Expressions: []kyverno.SelectorExpression{{Key: kyverno.Located{Text: key}, Operator: operator, Values: items}},
		})
		got := ours.matches(wildcard.NewMeter(), object)
		expect.That(t, got == want, "matches: %v, and Kubernetes says %v (%v)", got, want, err)
	})
}
