package kyverno_test

import (
	"testing"

	"github.com/polex-dev/polex/test/expect"
)

// plainly are conditions that restrict by plain literals and do not reach the guard.
var plainly = []string{
	`object.kind == 'Pod'`, `object.kind == "Pod"`, `'Pod' == object.kind`, `object.kind in ['Pod', "Deployment"]`, `object.kind=='Pod'`, "object\t.\nkind\r ==\f'Pod'",
	`request.kind.kind == 'Pod'`, `request.requestKind.kind == 'Pod'`, `request.resource.resource == 'pods'`, `request.resource.resource in ['pods', 'deployments']`,
	`object.apiVersion == 'apps/v1'`, `object.apiVersion.startsWith('apps/')`, `request.kind.group == 'apps'`, `request.object.kind == 'Pod'`, `object.kind.startsWith('Dep')`,
	`object.metadata.namespace == 'team-a'`, `object.metadata.namespace in ['team-a', 'team-b']`, `object.metadata.namespace.startsWith('team-')`, `object.metadata.namespace.endsWith('-dev')`,
	`request.namespace == 'team-a'`, `namespaceObject.metadata.name == 'testing-ns'`, `object.metadata.namespace.matches('^team-.*$')`,
	`object.metadata.name == 'skipped-deployment'`, `request.name == 'web'`, `object.kind == 'Pod' && object.metadata.name.contains('canary')`, `object.metadata.name in ['skipped-deployment', 'skipped-cronjob']`,
	`(object.kind == 'Pod')`, `((object.kind == 'Pod') && (object.metadata.name == 'web'))`, "object.kind == 'Pod' // in the team's own words\n && object.metadata.name == 'web'",
	`object.metadata.name == 'a' || object.metadata.name == 'b'`, `object.kind == 'Pod' || object.metadata.namespace == 'team-a'`, `(object.kind == 'Pod' || object.kind == 'Job') && object.metadata.name == 'web'`,
	`object.kind == 'Namespace' ? object.metadata.name == 'team-a' : object.metadata.namespace == 'team-a'`,
	`object.kind == 'Deployment' && object.metadata.name == 'polex-guard' && object.metadata.namespace == 'team-a'`, `object.kind == 'Pod' && object.metadata.name.matches('^web-.*$')`,
	`object.spec.replicas > 3 ? object.kind == 'Pod' : object.kind == 'Job'`, `object.metadata.labels['app'] > 'a' ? object.metadata.namespace == 'team-a' : object.metadata.namespace == 'team-b'`,
	// A namespace and a name in one text.
	`(object.metadata.namespace + '/' + object.metadata.name) in ['team-a/web', 'team-b/kyverno']`, `object.metadata.namespace + '/' + object.metadata.name == 'team-a/web'`,
	`request.namespace + '/' + request.name == 'team-a/web'`, `object.kind == 'Pod' && (object.metadata.namespace + '/' + object.metadata.labels['app']) in ['team-a/web', 'team-a/db']`,
	`has(object.metadata.namespace) && (object.metadata.namespace + '/' + object.metadata.name) in ['team-a/web/x']`,
	// With other parts that restrict neither kind nor namespace.
	`object.kind == 'Pod' && object.spec.containers.all(c, c.image.startsWith('registry.example/'))`, `object.kind == 'Pod' && has(object.metadata.labels) && object.metadata.labels['a'] == 'b'`,
	`object.metadata.namespace == 'team-a' && object.metadata.?labels['app'].orValue('') == 'web'`, `object.metadata.namespace == 'team-a' && object.spec.replicas > 3`,
	`object.kind == 'Pod' && request.operation == 'CREATE' && request.userInfo.username.startsWith('system:')`, `object.kind == 'Pod' && namespaceObject.metadata.labels.team == 'a'`,
	`object.kind == 'Pod' && object.metadata.name.matches('^web-\\d+$')`, `object != null && has(object.metadata) && has(object.kind) && object.kind == 'Pod'`,
	`has(object.metadata.namespace) && object.metadata.namespace == 'team-a'`, `object.kind == 'Pod' && 'app' in object.metadata.labels`, `object.kind == 'Pod' && request.dryRun`,
	`object.kind == 'Namespace' && object.metadata.labels['app'] > 'a'`, `object.kind == 'Namespace' && object.metadata.labels.app > 'a'`,
	`object.kind == 'Pod' && object.metadata.annotations['a'].contains('(')`, `object.kind == 'P\x6fd'`, `object.kind == 'Pod' && object.metadata.name.startsWith('kyv')`,
	`[request.operation == 'DELETE' ? oldObject : object].exists(it, it.kind == 'Pod' && it.metadata.name > 'a')`,
	// In the form of polex-request.
	"object != null && has(object.metadata) && has(object.apiVersion) && has(object.kind) &&\nhas(object.metadata.namespace) && object.metadata.namespace == 'team-a' &&\n(\n  object.apiVersion == 'apps/v1' && object.kind == 'Deployment' && " +
		"has(object.metadata.name) && object.metadata.name == 'web' ||\n  object.apiVersion == 'v1' && object.kind == 'Pod' && has(object.metadata.name) && object.metadata.name.matches('^web-[0-9a-z]{1,10}$')\n)",
	"object != null && has(object.metadata) && has(object.apiVersion) && has(object.kind) &&\nobject.apiVersion.startsWith('rbac.authorization.k8s.io/') && object.kind == 'ClusterRole' && has(object.metadata.name) && object.metadata.name == 'web'",
}

// hidden are conditions that reach the guard. Some select the guard's objects, and others have a
// form that polex does not recognise, although it may restrict.
var hidden = map[string][]string{
	"texts": {
		`object.kind == 'Policy' + 'Exception'`, `object.kind == r'Pod'`, `object.kind == R"Pod"`, `object.kind == '''Pod'''`, `object.kind == """Pod"""`, `object.kind == b'Pod'`,
		`object.kind == 'Polic\x79Exception'`, `object.kind == '\u0050olicyException'`, `object.kind == '\U00000050olicyException'`, `object.kind == '\120olicyException'`,
		`object.kind == 'Pod\?'`, `object.kind == ''`, `object.kind in ['']`, `object.kind in []`, `object.metadata.namespace == ''`, `object.kind.startsWith('')`, `object.metadata.name.contains('')`,
		`object.kind == 'policyexception' && object.metadata.namespace == 'a'`, `object.kind == 'Pod' && object.metadata.labels['a'] == 'polex'`, `object.kind == 'Pod`, `object.kind == 'Pod\'`,
		"object.kind == 'Pod\n'", "object.kind == 'Pod' && '\xff' == '\xff'", `object.kind == 'Pod' && x in r'polex'`, `object.metadata.namespace == 'KYVERNO'`, `'PolicyException' in [object.kind]`,
	},
	"texts that a simpler reader would end elsewhere": {
		`object.kind == 'Pod' && r'\' == 'a' || true // '`, `object.kind == 'Pod' && '''it' s ''' == ' a ' || true // '`, `object.kind == 'Pod' && "it's" == 'a' || true // '`,
		`object.kind == 'Pod' && 'it\'s' == 'a' || true // '`, `object.kind == 'Pod' && '' == 'a' || true // '`, `object.kind == 'Pod' && '// ' == 'a' || true`,
	},
	"comments": {
		"true // object.kind == 'Pod'", "// object.kind == 'Pod' &&\ntrue", "object.kind == 'Pod' // \r || true\n || true", "true //\u2028 && object.kind == 'Pod'", `object.kind /* */ == 'Pod'`, `# object.kind == 'Pod'`,
		"object.kind == // 'Pod'\n 'PolicyException'",
	},
	"operators": {
		`object.kind == 'Pod' || true`, `true || object.kind == 'Pod' && object.kind == 'Pod'`, `object.kind == 'Pod' && true || true`, `object.kind == 'Pod' ? true : true`, `true ? true : object.kind == 'Pod'`,
		`!(object.kind == 'Pod')`, `!object.kind == 'Pod'`, `object.kind != 'Pod'`, `!(object.metadata.namespace == 'team-a')`, `object.metadata.namespace != 'team-a'`, `!(object.kind in ['Pod'])`,
		`(object.kind == 'Pod') == false`, `false == (object.kind == 'Pod')`, `object.kind == 'Pod' == false`, `(object.kind == 'Pod' && true) || true`, `object.kind >= 'Pod'`, `object.kind == 'Pod' && `,
		`(object.kind == 'Pod' ? 'a' : 'b') == 'b'`, `object.kind == ('Pod')`, `object.kind == 'Pod')`, `(object.kind == 'Pod'`, `[object.kind == 'Pod'].all(x, !x)`, `object.kind == 'Pod' & true`,
		`object.kind == 'Pod' && (true`, `object.kind == 'Pod' && [1`, `object.kind == 'Pod' && {'a': 1`, `object.kind == 'Pod' && [(1]`, `object.kind == 'Pod' && true)`,
		`(object.kind == 'Pod'] || true) && [object.kind == 'Pod'`, `object.kind in ['Pod'] + ['PolicyExc' + 'eption']`, `object.kind in ['Pod', 'Policy' + 'Exception']`, `object.kind in ['Pod', object.kind]`,
		`object.metadata.namespace > 'k' ? object.kind == 'Pod' && object.metadata.namespace == 'team-a' : object.kind == 'Pod'`, `object.metadata.namespace > 'k' ? object.kind == 'Pod' : object.kind == 'Job'`,
		`object.kind != 'Pod' ? object.metadata.namespace == 'a' : object.metadata.namespace == 'b'`,
	},
	"variables": {
		`oldObject.kind == 'Pod'`, `oldObject.metadata.namespace == 'team-a'`, `oldObject == null || oldObject.kind == 'Pod'`, `object.kind == oldObject.kind`, `object.kind == request.kind.kind`, `object.kind == object.metadata.name`,
		`['Pod'].exists(object, object == 'Pod')`, `[{'kind': 'Pod'}].exists(object, object.kind == 'Pod')`, `[object].exists(o, o.kind == 'Pod')`, `[1].all(kind, object.kind == 'Pod')`, `dyn(object).kind == 'Pod'`,
		`{'kind': 'Pod'}.kind == 'Pod'`, `x.object.kind == 'Pod'`, `.object.kind == 'Pod'`, `object.spec.kind == 'Pod'`, `object.metadata.kind == 'Pod'`, `object.kind.kind == 'Pod'`, `request.object.metadata.kind == 'Pod'`,
		`object.spec.template.metadata.namespace == 'team-a'`, `object.metadata.labels.kind == 'Pod'`, `kind == 'Pod'`, `Object.kind == 'Pod'`, `object.Kind == 'Pod'`, "object.`kind` == 'Pod'", `object['kind'] == 'Pod'`,
		`object[?'kind'].orValue('Pod') == 'Pod'`, `object.?kind.orValue('Pod') == 'Pod'`, `object.?kind == 'Pod'`, `has(object.kind)`, `has(object.kind) && 'Pod' == 'Pod'`, `'Pod' == 'Pod'`, `request.subResource == 'exec'`,
		`[request.operation == 'UPDATE' ? oldObject : object].exists(it, it.kind == 'Pod')`, `[request.operation == 'DELETE' ? oldObject : object].all(it, it.kind == 'Pod')`,
		`[request.operation == 'DELETE' ? oldObject : object].exists(it, it.kind != 'Pod')`, `[request.operation == 'DELETE' ? oldObject : object].exists(kind, kind.kind == 'Pod')`,
		`[request.operation == 'DELETE' ? oldObject : object].exists(it, it.kind == 'Pod') || true`, `[request.operation == 'DELETE' ? oldObject : object].exists(it, true) && it.kind == 'Pod'`,
		`!('Pod' in [object.kind])`, `request.userInfo.username == 'system:serviceaccount:team-a:deployer'`, `object.metadata.labels['a'] == 'b'`, `object.spec.template.spec.serviceAccountName == 'web'`, `true`, `1 == 1`, ``,
	},
	"patterns of names alone": { // some match nearly every name
		`object.metadata.name.contains('a')`, `object.metadata.name.startsWith('w')`, `request.name.endsWith('b')`, `object.metadata.name.matches('^web-.*$')`,
		`object.metadata.name == 'web' || object.metadata.name.startsWith('a')`,
	},
	"the guard's own objects": {
		`object.metadata.name == 'polex-guard'`, `object.kind == 'ClusterRole' && object.metadata.name == 'polex-guard'`, `object.kind == 'Secret' && request.name.startsWith('polex-guard-')`,
		`object.kind == 'Deployment' && object.metadata.name.endsWith('-guard')`, `object.kind == 'Secret' && object.metadata.name.endsWith('-guard-tls')`, `object.kind == 'Secret' && object.metadata.name.matches('^.olex-guard-reader$')`,
	},
	"a namespace in one text with another": {
		`(object.metadata.namespace + '/' + object.metadata.name) in ['team-a/web', 'kyverno/web']`, `object.metadata.namespace + '/' + object.metadata.name == 'polex-system/web'`,
		`(object.metadata.namespace + '/' + object.metadata.name) in ['a/b', '/kyverno/web']`, `(object.metadata.namespace + '/' + object.metadata.name) in ['/web']`, `(object.metadata.namespace + '/' + object.metadata.name) in ['web', 'a/b']`,
		`(object.metadata.namespace + '-' + object.metadata.name) in ['kyverno-a/web']`, `(object.metadata.namespace + '' + object.metadata.name) in ['kyverno/web']`, `(object.metadata.namespace + '//' + object.metadata.name) in ['kyverno//web']`,
		`(object.metadata.name + '/' + object.metadata.namespace) in ['team-a/kyverno']`, `(object.metadata.labels.a + '/' + object.metadata.namespace) in ['team-a/kyverno']`, `(object.kind + '/' + object.metadata.namespace) in ['team-a/kyverno']`,
		`(object.metadata.namespace + '/' + object.metadata.name) in ['a/b'] + ['kyver' + 'no/web']`, `(object.metadata.namespace + '/' + object.metadata.name) in ['a/b', 'kyver' + 'no/web']`, `(object.metadata.namespace + '/' + object.metadata.name) in [object.metadata.labels.a]`,
		`(object.metadata.namespace + '/' + object.metadata.name) != 'a/b'`, `!((object.metadata.namespace + '/' + object.metadata.name) in ['a/b'])`, `(object.metadata.namespace + '/' + object.metadata.name) in ['a/b'] == false`,
		`(object.metadata.namespace + '/' + object.metadata.name).startsWith('a/')`, `(object.metadata.namespace + '/' + object.metadata.name > 'a') in ['a/b']`, `'x' + object.metadata.namespace + '/' + object.metadata.name == 'xkyverno/web'`,
		`object.metadata.namespace + '/' + object.metadata.labels['a'] + object.metadata.name == 'a/b' || true`, `(oldObject.metadata.namespace + '/' + oldObject.metadata.name) in ['a/b']`, `(object.metadata.labels['/'] + '/' + object.metadata.namespace) in ['a/b']`,
		`object.kind == 'Pod' && (object.metadata.namespace + '/' + object.metadata.name) in ['team-a/web', 'kyverno/web']`, `(object.metadata.namespace + '/' + object.metadata.name) in ['team-a/web'] && object.kind > 'P'`,
	},
	"beside a kind": { // the namespace is read in another form
		`object.kind == 'Pod' && object.metadata.namespace.matches('^k.*o$')`, `object.kind == 'Pod' && object.metadata.namespace == 'ky' + 'verno'`, `object.kind == 'Pod' && object.metadata.namespace.contains('yverno')`,
		`object.kind == 'Pod' && object['metadata']['namespace'] > 'a'`, `object.kind == 'Pod' && object.metadata['namespace'] > 'a'`, `object.kind == 'Pod' && [object].exists(o, o.metadata.namespace > 'a')`,
		`object.kind == 'Pod' && [object.metadata].exists(m, m.namespace > 'a')`, `object.kind == 'Pod' && object.metadata.?namespace.orValue('') > 'a'`, `object.kind == 'Pod' && size(object.metadata.namespace) == 7`,
		`object.kind == 'Pod' && request.namespace > 'a'`, `object.kind == 'Pod' && [request].exists(r, r.namespace > 'a')`, `object.kind == 'Pod' && namespaceObject.metadata.name > 'a'`, `object.kind == 'Pod' && namespaceObject.status.phase == 'Active'`,
		`object.kind == 'Pod' && namespaceObject.metadata.labels['kubernetes.io/' + 'metadata.name'] > 'a'`, `object.kind == 'Pod' && namespaceObject.metadata.labels['kubernetes.io/metadata.name'] > 'a'`,
		`object.kind == 'Pod' && namespaceObject.metadata.labels.exists(k, namespaceObject.metadata.labels[k] > 'a')`, `object.kind == 'Pod' && oldObject.metadata.namespace > 'a'`, `object.kind == 'Pod' && (true ? object : oldObject).metadata.namespace > 'a'`,
		`object.kind == 'Pod' && object.metadata.namespace.startsWith('kyv')`, `object.kind == 'Namespace' && object.metadata.name.startsWith('kyv')`, `object.kind == 'Namespace' && object.metadata.labels['kubernetes.io/metadata.name'] > 'a'`,
		`object.kind == 'Pod' && request.object.metadata.namespace > 'a'`, `object.kind == 'Pod' && object.metadata.managedFields[0].manager > 'a'`, `object.kind == 'Pod' && object.metadata.namespace.matches('^kyvernox*$')`,
		`object.kind == 'Pod' && object.metadata.namespace.matches('^team|kyverno$')`, `object.kind == 'Pod' && object.metadata.namespace.matches('team')`, `object.kind == 'Pod' && object.metadata.namespace.matches('^(team|kyverno)$')`, `object.kind == 'Pod' && variables.home.startsWith('k')`,
	},
	"beside a namespace": { // the kind is read in another form
		`object.metadata.namespace == 'team-a' && object.kind.endsWith('tion')`, `object.metadata.namespace == 'team-a' && request.resource.resource.startsWith('policyexc')`, `object.metadata.namespace == 'team-a' && object.kind > 'P'`,
		`object.metadata.namespace == 'team-a' && has(object.spec.policyRefs)`, `object.metadata.namespace == 'team-a' && 'policyRefs' in object.spec`, `object.metadata.namespace == 'team-a' && object.spec.?policyRefs.hasValue()`,
		`object.metadata.namespace == 'team-a' && object.spec == object.spec`, `object.metadata.namespace == 'team-a' && request.object.spec.x == 1`, `object.metadata.name == 'web' && object.apiVersion.startsWith('policies.')`,
		`object.metadata.name == 'web' && object.apiVersion == 'kyverno.io/v2'`, `object.metadata.name == 'web' && request.kind.group == 'kyverno' + '.io'`, `object.metadata.namespace == 'team-a' && object.exists(k, k == 'spec')`,
	},
}

func TestConditions(t *testing.T) {
	for _, expression := range plainly {
		expect.That(t, !reachesBy(t, expression), "reaches: %s", expression)
	}
	for of, expressions := range hidden {
		for _, expression := range expressions {
			expect.That(t, reachesBy(t, expression), "%s: does not reach: %s", of, expression)
		}
	}
}
