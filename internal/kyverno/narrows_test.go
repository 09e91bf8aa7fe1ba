package kyverno_test

import (
	"strings"
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/test/expect"
)

// widths are match conditions by their widths.
var widths = map[kyverno.Width][]string{
	kyverno.Narrow: {
		`(object.metadata.namespace + '/' + object.metadata.name) in ['team-a/web']`, `object.kind == 'Pod' ? object.metadata.name == 'web' : false`,
		`object.metadata.name == 'web'`, `'web' == object.metadata.name`, `object.metadata.name in ['web', "api"]`, `object.metadata.name.startsWith('web-')`,
		`object.metadata.namespace == 'team-a'`, `request.namespace == 'team-a'`, `request.name == 'web'`, `namespaceObject.metadata.name == 'team-a'`, `request.object.metadata.name == 'web'`,
		`object.metadata.name.endsWith('-canary')`, `object.metadata.name.matches('^web-[.].*$')`, `object.metadata.namespace == 'team-a' && object.spec.replicas > 3`,
		`object.kind == 'Pod' && object.metadata.labels.app == 'web'`, `object.kind == 'Pod' && object.metadata.labels['app'] in ['web', 'api']`, `object.kind == 'Pod' && 'exempt' in object.metadata.labels`,
		`request.kind.kind == 'Pod' && has(object.metadata.labels.exempt)`, `object.kind == 'Pod' && object.metadata.?labels['app'].orValue('') == 'web'`, `object.kind == 'Pod' && namespaceObject.metadata.labels.team == 'a'`,
		`object.metadata.name == 'web' || object.metadata.name == 'api'`, `(object.metadata.name == 'web' || object.kind == 'Pod' && object.metadata.labels.app == 'web') && request.operation == 'CREATE'`,
		`object.kind == 'Namespace' ? object.metadata.name == 'team-a' : object.metadata.namespace == 'team-a'`,
		`[request.operation == 'DELETE' ? oldObject : object].exists(it, it.kind == 'Pod' && it.metadata.name == 'web')`,
	},
	kyverno.Wide: {
		`object.metadata.name.startsWith('')`, `object.metadata.name.matches('^.*$')`, `object.metadata.name.matches('.*')`, `object.kind == 'Pod' && object.metadata.namespace.contains('')`,
		`true`, `1 == 1`, `'web' in ['web']`, `object.kind == 'Pod'`, `object.kind in ['Pod', 'Job']`, `object.apiVersion == 'v1'`, `request.resource.resource == 'pods'`, `object.kind != 'Pod'`, `object.kind > 'A'`,
		`object.metadata.name != 'web'`, `object.metadata.namespace != 'prod'`, `!(object.metadata.name == 'web')`, `!(object.metadata.name in ['a', 'b'])`, `!has(object.metadata.labels.strict)`, `!('strict' in object.metadata.labels)`,
		`has(object.metadata.labels)`, `has(object.metadata.namespace)`, `object == null`, `request.operation == 'CREATE'`, `request.operation != 'CREATE'`, `object.kind == 'Pod' && request.operation == 'CREATE'`,
		`object.metadata.name == 'web' || true`, `object.metadata.name == 'web' || object.metadata.name != 'web'`, `object.metadata.name == 'web' ? true : true`, `object.metadata.name == 'web' || object.kind == 'Pod'`,
	},
	kyverno.AnyKind: {
		`object.metadata.labels.app == 'web'`, `object.metadata.labels['app'] == 'web' && object.metadata.labels.tier == 'db'`, `has(object.metadata.labels.exempt)`, `object.apiVersion == 'v1' && object.metadata.labels.app == 'web'`,
		`object.metadata.labels.app == 'web' && object.spec.hostNetwork`,
	},
	kyverno.Unproven: {
		``, `object.metadata.name == ''`, `object.metadata.name in []`, `object.metadata.name in ['web', '']`, `object.metadata.name.matches('web')`,
		`object.kind == 'Pod' && object.metadata.labels.app == ''`, `object.kind == 'Pod' && object.metadata.labels['app'] != 'web'`, `object.kind == 'Pod' && object.metadata.?labels['a'].orValue('web') == 'web'`,
		`object.kind == 'Pod' && object.metadata.?labels['a'].orValue('web').startsWith('w')`, `object.kind == 'Pod' && '' in object.metadata.labels`, `object.kind == 'Pod' && object.metadata.labels.app.startsWith('')`,
		`object.metadata.name == object.metadata.name`, `object.metadata.name == request.name`, `object.metadata.name > 'a'`, `size(object.metadata.name) > 0`, `object.metadata.name.find('.*') != 'x'`, `object.metadata.name == 'we' + 'b'`,
		`object.spec.template.spec.serviceAccountName == 'web'`, `object.kind == 'Pod' && object.spec.hostNetwork`, `request.userInfo.username == 'ann'`, `request.userInfo.username != 'root'`, `['web'].exists(object, object.metadata.name == 'web')`,
		`oldObject.metadata.name == 'web'`, `object.metadata.name == 'web' || object.spec.x`, `object.metadata.name == 'web`, `object.metadata.name == r'web'`, `(object.metadata.name == 'web') == false`, `!(object.spec.x == 'a')`,
		`object.metadata.name == 'web' && (true`,
	},
}

func TestWidthOf(t *testing.T) {
	for want, conditions := range widths {
		for _, condition := range conditions {
			expect.Is(t, condition, want, kyverno.WidthOf([]string{condition}))
		}
	}
}

// TestWidthOfSeveral: "and" joins conditions.
func TestWidthOfSeveral(t *testing.T) {
	for _, tc := range []struct {
		conditions string
		want       kyverno.Width
	}{
		{"", kyverno.Wide},
		{"object.kind == 'Pod'; object.metadata.name == 'web'", kyverno.Narrow},
		{"object.kind == 'Pod'; object.metadata.labels.app == 'web'", kyverno.Narrow},
		{"object.kind == 'Pod'; object.spec.x; object.metadata.name == 'web'", kyverno.Narrow},
		{"object.kind == 'Pod'; request.operation == 'CREATE'", kyverno.Wide},
		{"object.kind == 'Pod'; object.spec.x", kyverno.Unproven},
		{"object.metadata.name == 'web'; '", kyverno.Unproven},
	} {
		expect.Is(t, tc.conditions,
			tc.want, kyverno.WidthOf(strings.FieldsFunc(tc.conditions, func(r rune) bool { return r == ';' })))
	}
}
