package kyverno_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// optionals are match conditions on fields and labels that may be missing. Those under true
// restrict and do not reach the guard.
var optionals = map[bool][]string{
	true: {
		`object.metadata.?namespace.orValue('') == 'team-a'`, `object.metadata.?name.orValue('') == 'web'`, `object.metadata.?namespace.orValue('') in ['team-a', "team-b"]`,
		`object.metadata.?namespace.orValue('').startsWith('team-')`, `object.metadata.?namespace.orValue('none') == 'team-a'`, `object.metadata.?namespace.orValue('team') in ['team-a']`,
		`object.?metadata.?namespace.orValue('') == 'team-a'`, `request.object.metadata.?namespace.orValue('') == 'team-a'`, `request.?namespace.orValue('') == 'team-a'`,
		`(object.metadata.?namespace.orValue('') == 'team-a') && object.metadata.labels.?app.orValue('') == 'web'`, `object.kind == 'Pod' && object.metadata.?name.orValue('').startsWith('we')`,
		`object.metadata.?namespace.orValue('') == 'team-a' || object.metadata.namespace == 'team-b'`, `object.metadata.?namespace.orValue('') == 'team-a' ? true : object.metadata.?name.orValue('') == 'web'`,
		`[request.operation == 'DELETE' ? oldObject : object].exists(it, it.metadata.?namespace.orValue('') == 'team-a')`,
		`object.kind == 'Pod' && object.metadata.labels.?app.orValue('') == 'web'`, `object.kind == 'Pod' && object.metadata.?labels.?app.orValue('') in ['web', 'api']`,
		`object.kind == 'Pod' && object.metadata.?labels[?'app'].orValue('').startsWith('w')`, `object.kind == 'Pod' && object.metadata.labels[?'app'].orValue('') == 'web'`,
	},
	false: {
		`object.metadata.?namespace.orValue('team-a') == 'team-a'`, `object.metadata.?namespace.orValue('team-a') in ['team-b', 'team-a']`, `object.metadata.?namespace.orValue('team-a').startsWith('team-')`,
		`object.metadata.?name.orValue('web') == 'web'`, `object.metadata.?namespace.orValue('') == ''`, `object.metadata.?namespace.orValue('a').startsWith('')`, `object.metadata.?namespace.orValue('') in ['team-a', '']`,
		`object.metadata.?namespace.orValue('') != 'team-a'`, `object.metadata.?namespace.orValue('') > 'k'`, `!(object.metadata.?namespace.orValue('') == 'team-a')`, `!object.metadata.?namespace.orValue('') == 'team-a'`,
		`(object.metadata.?namespace.orValue('') == 'team-a') == false`, `object.metadata.?namespace.orValue('') == 'team-a' == false`, `object.metadata.?namespace.orValue('') == 'team-' + 'a'`,
		`object.metadata.?namespace.orValue('') == 'team-a' || true`, `object.metadata.?namespace.orValue('') == 'team-a' ? false : true`, `object.metadata.?namespace.orValue('team-a') == 'team-a' ? object.kind == 'Pod' : true`,
		`'kyverno' == object.metadata.?namespace.orValue('team-a')`, `'team-b' == object.metadata.?namespace.orValue('team-a')`, `object.metadata.?namespace.orValue('').startsWith('kyv')`,
		`object.metadata.?namespace.orValue('') == 'kyverno'`, `object.metadata.?namespace.orValue('kyverno') == 'team-a'`, `object.metadata.?namespace.orValue('') in ['team-a', 'kyverno']`,
		`object.metadata.?namespace.orValue('x').endsWith('-a')`, `object.metadata.?namespace.orValue('team-a').endsWith('-a')`, `object.metadata.?namespace.orValue('a').contains('a')`, `object.metadata.?namespace.orValue('').matches('^.*$')`,
		`object.metadata.?namespace.orValue(7) == 'team-a'`, `object.metadata.?namespace.orValue(true) == 'team-a'`, `object.metadata.?namespace.orValue(null) == 'team-a'`, `object.metadata.?namespace.orValue(object.kind) == 'team-a'`,
		`object.metadata.?namespace.orValue('a' + 'b') == 'team-a'`, `object.metadata.?namespace.orValue(['team-a']) == 'team-a'`, `object.metadata.?namespace.orValue('').orValue('') == 'team-a'`,
		`object.metadata.?namespace.or(optional.none()).orValue('') == 'team-a'`, `object.metadata.?namespace.or(optional.of('team-a')).orValue('') == 'team-a'`, `optional.none().orValue('team-a') == 'team-a'`,
		`optional.of('team-a').orValue('') == 'team-a'`, `object.metadata.?namespace == optional.of('team-a')`, `object.metadata.?namespace == 'team-a'`, `object.metadata.?namespace.value() == 'team-a'`,
		`object.metadata.?namespace.hasValue()`, `object.metadata.namespace.orValue('') == 'team-a'`, `object.?metadata.namespace.orValue('') == 'team-a'`, `object.metadata[?'namespace'].orValue('') == 'team-a'`, `object.spec.?namespace.orValue('') == 'team-a'`,
		`oldObject.metadata.?namespace.orValue('') == 'team-a'`, `x.object.metadata.?namespace.orValue('') == 'team-a'`, `.object.metadata.?namespace.orValue('') == 'team-a'`, `object.metadata.?generateName.orValue('') == 'web'`,
		`['a'].exists(object, object.metadata.?namespace.orValue('') == 'team-a')`, `[object].exists(o, o.metadata.?namespace.orValue('') == 'team-a')`, `[object.metadata.?namespace.orValue('') == 'team-a'].all(x, !x)`,
		`[{'metadata': {'namespace': 'team-a'}}].exists(object, object.metadata.?namespace.orValue('') == 'team-a')`, `size(object.metadata.?namespace.orValue('')) == 6`,
		`object.metadata.?namespace.orValue('') in [object.metadata.name]`, `object.metadata.?namespace.orValue('').lowerAscii() == 'team-a'`, `object.metadata.?namespace.orValue('').startsWith('team-') == false`,
		`object.metadata.labels.?app.orValue('') == 'web'`, `object.metadata.?labels[?'app'].orValue('') == 'web'`,
	},
}

func TestOptionals(t *testing.T) {
	for restricts, expressions := range optionals {
		for _, expression := range expressions {
			if reachesBy(t, expression) == restricts {
				t.Errorf("reaches is %t: %s", !restricts, expression)
			}
			if width := kyverno.WidthOf([]string{expression}); restricts && width != kyverno.Narrow {
				t.Errorf("%d: %s", width, expression)
			}
		}
	}
	for _, label := range []string{
		`labels.?app.orValue('web') == 'web'`, `labels.?app.orValue('') != 'web'`, `labels.?app.orValue('') == ''`, `?labels.?app.orValue('web').startsWith('w')`, `?labels[?'app'].orValue('web') in ['api', 'web']`,
		`labels.?app == 'web'`, `labels.app.orValue('') == 'web'`, `labels.?app.orValue(7) == 'web'`, `labels.?app.orValue('').orValue('') == 'web'`,
	} {
		expect.That(t, kyverno.WidthOf([]string{"object.kind == 'Pod' && object.metadata." + label}) != kyverno.Narrow,
			"is narrow: %s", label)
	}
}

// TestOptionalsSelect compares each comparison of an optional field with CEL, on objects with and without the field. If
// it does not reach the guard, or is narrow, it selects only objects that have the field, are not the guard's, and
// match the comparison of the field without the question mark.
func TestOptionalsSelect(t *testing.T) {
	env := environment(t)
	texts := []string{"", "team-a", "team-", "team-a-b", "none"}
	var compares []string
	for _, text := range texts {
		for _, by := range []string{" == '%s'", " != '%s'", " < '%s'", " in ['web-1', '%s']", ".startsWith('%s')", ".endsWith('%s')", ".contains('%s')", ".matches('^%s.*$')"} {
			compares = append(compares, fmt.Sprintf(by, text))
		}
	}
	accepted, selected := 0, 0
	for _, field := range []string{"object.metadata.?namespace", "object.?metadata.?namespace", "object.?metadata.namespace", "request.object.metadata.?namespace", "request.?namespace", "object.metadata.?name", "request.?name"} {
		for _, otherwise := range texts {
			for _, compare := range compares {
				for _, form := range []string{"%s", "!(%s)", "%s && has(object.metadata)", "(%s) || object.metadata.namespace == 'web-1'", "%s ? true : object.metadata.namespace == 'web-1'"} {
					expression := fmt.Sprintf(form, field+".orValue('"+otherwise+"')"+compare)
					if reachesBy(t, expression) && kyverno.WidthOf([]string{expression}) != kyverno.Narrow {
						continue
					}
					is, read := compiled(env, expression)
					plain, plainRead := compiled(env, fmt.Sprintf(form, strings.ReplaceAll(field, "?", "")+compare))
					must.That(t, read && plainRead, "CEL does not read %s", expression)
					accepted++
					leavesAlone(t, expression, is)
					for _, r := range objects() {
						if r.namespace == "web-1" || !is(r, "CREATE") { // every form may select these
							continue
						}
						selected++
						value := r.namespace
						if strings.HasSuffix(field, "name") || r.kind == "Namespace" { // for a request, a Namespace is in itself
							value = r.name
						}
						if guards := []string{"", "kyverno", "polex-system", "polex-guard"}; !plain(r, "CREATE") || slices.Contains(guards, value) {
							t.Fatalf("%s\nis true of %+v", expression, r)
						}
					}
				}
			}
		}
	}
	expect.That(t, accepted >= 500 && selected >= 2000, "%d are accepted, and select %d objects", accepted, selected)
}

// objects returns objects with all fields, and objects without a namespace, a name or both.
func objects() (all []resource) {
	for _, of := range []resource{
		{apiVersion: "v1", kind: "Pod", plural: "pods"}, {apiVersion: "kyverno.io/v2", kind: "PolicyException", plural: "policyexceptions"},
		{apiVersion: "policies.kyverno.io/v1", kind: "PolicyException", plural: "policyexceptions"}, {apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", plural: "clusterroles"},
		{apiVersion: "v1", kind: "Namespace", plural: "namespaces"},
	} {
		for _, namespace := range []string{"", "team-a", "team-a-b", "none", "web-1", "kyverno", "polex-system"} {
			for _, name := range []string{"", "team-a", "none", "web-1", "kyverno", "polex-guard"} {
				of.namespace, of.name = namespace, name
				all = append(all, of)
			}
		}
	}
	return all
}
