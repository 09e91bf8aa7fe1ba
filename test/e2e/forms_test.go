//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/must"
)

// forms are ways to write a value. If both accept one, the API server must read the same value as
// polex: a reviewer and a signature see the text, and the cluster uses the value.
var forms = []string{
	"text", "'text'", `"text"`, `"a\tb\u00e9\x41"`, "'it''s'", `"\/"`, "a: b", "a # b", "a#b", "'# a'", "- a", "[a, b]", "{a: b}", "[]", "{}", "''", `""`, "é", "\"\\ud83d\\ude00\"",
	"|\n        a\n        b", "|-\n        a\n        b", "|+\n        a\n\n", ">\n        a\n        b", ">-\n        a\n\n        b", "a\n        b", "'a\n        b'", "\"a \\\n        b\"",
	"true", "True", "TRUE", "tRue", "false", "yes", "No", "on", "off", "y", "n", "~", "null", "Null", "nULL",
	"0", "1", "-1", "+1", "00", "007", "0o17", "0x1F", "0b11", "1_000", "1:30", "1.", ".5", "1.0", "1.5", "-0", "-0.0", "1e3", "1.5e3", "1E+3", "1e", "e3", "0.1", "1e400",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "123456789012345678901234567890", "3.141592653589793238", "1e-7", "100000000000000000000.0",
	".inf", "-.inf", ".nan", "2026-12-31", "2026-12-31T17:00:00Z", "12:30", "1.2.3", "1-2", "<<", "=", "!!str 1", "!!int '1'", "!!binary aGVsbG8=", "!custom a", "&a b", "*a", "@a", "`a`", "%a", "? a", "-a", "--- a", "...",
	"[a, [b, {c: d}]]", "{a: {b: [c]}}", "[a,]", "{a: b,}", "{a, b}", "{'a': 'b', a: c}", "{1: a}", "{true: a}", "{null: a}", "{[a]: b}", "{a: b, <<: {c: d}}", "[1, 1.0, '1', true]",
}

// formSamples puts each form into a free-form value, and each text into an annotation.
func formSamples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	whole := fmt.Sprintf(wholeLegacy, "v2")
	add := func(name, text string) { all = append(all, sample{"form/" + name, []byte(text)}) }
	const free, annotations = "value: [web, 1, 2.5, {deep: [true]}]", "annotations: {polex.dev/reason: no health endpoint}"
	must.That(t, strings.Contains(whole, free) && strings.Contains(whole, annotations), "there is nothing to replace")
	for _, form := range forms {
		add("value "+form, strings.Replace(whole, free, "value: "+form, 1))
		add("list of "+form, strings.Replace(whole, free, "value:\n      - "+form, 1))
		add("annotation "+form, strings.Replace(whole, annotations, "annotations:\n    a: "+form, 1))
	}
	for name, text := range map[string]string{
		"CRLF":                     strings.ReplaceAll(whole, "\n", "\r\n"),
		"byte order mark":          "\ufeff" + whole,
		"marker before":            "---\n" + whole,
		"marker behind":            whole + "---\n",
		"end behind":               whole + "...\n",
		"second document":          whole + "---\n" + whole,
		"comment before":           "# an exception\n" + whole,
		"version directive":        "%YAML 1.1\n---\n" + whole,
		"no newline at the end":    strings.TrimSuffix(whole, "\n"),
		"tab":                      strings.Replace(whole, "  background: false", "\tbackground: false", 1),
		"lone carriage return":     strings.Replace(whole, "background: false", "background: false # a\r  background: true", 1),
		"next line":                strings.Replace(whole, "background: false", "background: false # a\u0085  background: true", 1),
		"line separator":           strings.Replace(whole, "background: false", "background: false # a\u2028  background: true", 1),
		"NUL":                      strings.Replace(whole, "no health", "no\x00health", 1),
		"bell":                     strings.Replace(whole, "no health", "no\ahealth", 1),
		"not UTF-8":                strings.Replace(whole, "no health", "no\xffhealth", 1),
		"key in other case":        strings.Replace(whole, "  background: false", "  Background: true\n  background: false", 1),
		"kind in other case":       strings.Replace(whole, "kind: PolicyException", "Kind: PolicyException", 1),
		"key twice in a list":      strings.Replace(whole, "kinds: [Deployment]", "kinds: [Deployment]\n        kinds: [Pod]", 1),
		"key twice in free form":   strings.Replace(whole, free, "value: {a: b, a: c}", 1),
		"anchor and alias":         strings.Replace(whole, "names: [web]", "names: &n [web]\n        namespaces: *n", 1),
		"merge key":                strings.Replace(whole, "  background: false", "  <<: {background: false}", 1),
		"deep":                     strings.Replace(whole, free, "value: "+strings.Repeat("[", 60)+strings.Repeat("]", 60), 1),
		"very deep":                strings.Replace(whole, free, "value: "+strings.Repeat("[", 9000)+strings.Repeat("]", 9000), 1),
		"as JSON":                  `{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{"name":"a","namespace":"team-a"},"spec":{"exceptions":[],"match":{}}}`,
		"as JSON, a key twice":     `{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{"name":"a","name":"a","namespace":"team-a"},"spec":{"exceptions":[{"policyName":"a","ruleNames":["b"]}],"match":{}}}`,
		"as JSON with more behind": `{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{"name":"a","namespace":"team-a"},"spec":{"exceptions":[{"policyName":"a","ruleNames":["b"]}],"match":{}}} {}`,
	} {
		add(name, text)
	}
	return all
}

// expressions are conditions for Kyverno's webhook. It compiles them with Kubernetes' functions and types, without the
// additions for policies. It admits some of them and rejects others; there is no documentation of that.
var expressions = []string{
	// CEL itself.
	"true", "!false", "true == 'true'", "'web'", "1", "null", "dyn(true)", "dyn('web')", "[]", "true ? true : false", "true ? 1 : 2",
	"   ", "(true", "true)", "true &&", "true and false", "object.metadata.name = 'web'", "object.metadata.name ==", "object..metadata", "object.metadata.name == 'web' // the one",
	"1 == 1u", "1 == 1.0", "dyn(1) == 1.0", "1 + '1' == ''", "-(-1) == 1", "1 / 0 == 1", "0x1F == 31", "1e3 == 1000.0", "9223372036854775808 == 0", "b'a' == bytes('a')", "r'\\d' == '\\\\d'", "'''a''' == 'a'", "'\\q' == ''",
	"timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')", "timestamp('nonsense') == timestamp('nonsense')", "duration('1h') == duration('60m')", "duration('1 day') == duration('24h')",
	"object.metadata.creationTimestamp < timestamp('2027-01-01T00:00:00Z')", "type(object) == map", "type(1) == int", "int('1') == 1", "string(1) == '1'", "double('1') == 1.0", "uint(1) == 1u", "bool('true')",
	"size(object.metadata.labels)", "size(object.metadata.labels) > 0", "object.metadata.labels.size() > 0", "'a' in object.metadata.labels", "'a' in ['a']", "1 in ['a']", "['a', 1] == []", "[1, 2][0] == 1", "{'a': 1}.a == 1", "{'a': 1, 'a': 2}.a == 1",
	// Macros.
	"has(object.spec.replicas) && object.spec.replicas < 3", "has(object)", "has(object.metadata['name'])", "[object].map(o, o.metadata.name)", "[1, 2].map(x, x > 1, x * 2).size() == 1", "[1].filter(x, x > 0).size() == 1",
	"[1].exists(x, x == 1)", "[1].exists_one(x, x == 1)", "[1].existsOne(x, x == 1)", "[1].all(x, x == 1)", "[1].all(i, x, x == 1)", "{'a': 1}.all(k, v, v == 1)", "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}", "[1].transformList(i, v, v + i) == [1]", "{'a': 1}.exists(k, k == 'a')",
	"object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))", "cel.bind(n, object.metadata.name, n == 'web')", "cel.@block([1], true)", "cel.block([1], true)",
	// Optionals.
	"object.metadata.?labels.?team.orValue('') == 'a'", "object.metadata.?labels[?'team'].orValue('') == 'a'", "optional.of(1).hasValue()", "optional.none() == optional.none()", "object.?a.optMap(x, x == 1).orValue(false)", "object.?a.optFlatMap(x, x.?b).orValue(false)", "object.?a", "{?'a': object.?a}.size() == 0", "[?object.?a].size() == 0", "optional.ofNonZeroValue('').hasValue()", "[1].first().hasValue()", "optional.unwrap([object.?a]) == []", "[object.?a].unwrapOpt() == []",
	// Variables.
	"unbound.name == 'web'", "oldObject == null", "oldObject.metadata.name == 'web'", "request.operation == 'CREATE'", "request.userInfo.username == 'alice'", "request.userInfo.extra['a'] == ['b']", "request.object.metadata.name == 'web'", "request.nothing == 1", "request.kind.group == 'apps'", "request.dryRun", "request.name == 1", "request.options.kind == 'CreateOptions'",
	"namespaceObject.metadata.name == 'team-a'", "namespaceObject.metadata.labels.team == 'a'", "namespaceObject.spec.finalizers == []", "namespaceObject.nothing == 'a'", "namespaceObject == null", "object == null", "namespaceObject.metadata.creationTimestamp < timestamp('2027-01-01T00:00:00Z')", "namespaceObject.status.phase == 'Active'",
	"variables.team == 'a'", "params.a == 'b'", "exceptions.allowedValues.size() > 0", "images.containers == []", "attestors.a == 'b'", "authorizer.group('').resource('pods').check('get').allowed()", "authorizer.requestResource.check('get').allowed()", "authorizer.serviceAccount('a', 'b').path('/x').check('get').reason() == ''",
	// Kubernetes' functions.
	"quantity('1Gi').isGreaterThan(quantity('1Mi'))", "isQuantity('1Gi')", "quantity('1Gi').add(1).asInteger() > 0", "quantity('1').sign() == 1", "isURL('https://example.com')", "url('https://example.com').getHost() == 'example.com'", "url('https://example.com/a?b=c').getQuery()['b'] == ['c']",
	"ip('10.0.0.1').family() == 4", "isIP('10.0.0.1')", "ip.isCanonical('10.0.0.1')", "cidr('10.0.0.0/8').containsIP('10.0.0.1')", "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "isCIDR('10.0.0.0/8')", "cidr('10.0.0.0/8').prefixLength() == 8", "cidr('10.0.0.0/8').masked() == cidr('10.0.0.0/8')", "string(ip('10.0.0.1')) == '10.0.0.1'",
	"semver('1.2.3').isLessThan(semver('1.3.0'))", "isSemver('1.2.3')", "isSemver('v1.2', true)", "semver('v1.2', true).major() == 1", "'a1'.find('[0-9]') == '1'", "'a1b2'.findAll('[0-9]') == ['1', '2']", "'a1b2'.findAll('[0-9]', 1) == ['1']", "'a'.matches('^[a-z]$')", "'a'.matches('(')", "matches('a', 'a')",
	"[1, 2].sum() == 3", "[1, 2].min() == 1", "['b', 'a'].max() == 'b'", "[2, 1].isSorted()", "[1, 2].indexOf(2) == 1", "[1, 2].lastIndexOf(2) == 1", "['a'].sum() == 'a'", "[dyn(1), 'a'].min() == 1", "format.dns1123Label().validate('web').hasValue()", "!format.named('dns1123Label').value().validate('web').hasValue()", "format.nothing().validate('a').hasValue()", "format.date().validate('2026-01-01').hasValue()",
	"sets.contains([1, 2], [1])", "sets.intersects([1], [2])", "sets.equivalent([1], [1, 1])", "'a,b'.split(',') == ['a', 'b']", "['a', 'b'].join('-') == 'a-b'", "'web'.substring(1) == 'eb'", "' a '.trim() == 'a'", "'A'.lowerAscii() == 'a'", "'a'.upperAscii() == 'A'", "'aa'.replace('a', 'b') == 'bb'", "'a'.charAt(0) == 'a'", "'ab'.reverse() == 'ba'", "'%s'.format(['a']) == 'a'", "'%d'.format([1]) == '1'", "'%q'.format([1]) == ''", "strings.quote('a') == '\"a\"'", "'a'.indexOf('a') == 0", "'a'.endsWithTypo('a')", "'a'.contains('a')",
	"base64.encode(b'a') == 'YQ=='", "base64.decode('YQ==') == b'a'", "math.greatest(1, 2) == 2", "math.least([1, 2]) == 1", "math.ceil(1.5) == 2.0", "math.abs(-1) == 1", "math.bitAnd(1, 1) == 1", "[3, 1].sort() == [1, 3]", "[1, [2]].flatten() == [1, 2]", "[1, 2].slice(0, 1) == [1]", "[1, 1].distinct() == [1]", "lists.range(3) == [0, 1, 2]", "[1, 2].reverse() == [2, 1]", "[{'a': 1}].sortBy(e, e.a) == [{'a': 1}]", "regex.replace('a', 'a', 'b') == 'b'", "regex.extract('a1', '([0-9])').hasValue()",
	// Additions of Kyverno's policies.
	"resource.Get('v1', 'configmaps', 'team-a', 'a').data.b == 'c'", "resource.List('v1', 'pods', '').items.size() == 0", "globalContext.Get('a', '') == 'b'", "http.Get('https://example.com').a == 'b'", "image('a:1').tag() == '1'", "isImage('a:1')", "parseServiceAccount('a').Name == 'b'", "json.Unmarshal('{}').a == 'b'", "yaml.parse('a: b').a == 'b'", "sha256('a') == 'b'", "hash.sha256('a') == 'b'", "time.now() > timestamp('2026-01-01T00:00:00Z')", "now() > timestamp('2026-01-01T00:00:00Z')", "random('[a-z]') == 'a'", "x509.decode('a').Subject == 'b'", "listObjToMap([], [], 'a', 'b') == {}", "generator.Apply('a', [])", "math.round(1.5, 0) == 2.0", "to_upper('a') == 'A'", "user.ParseServiceAccount('a').Name == 'b'",
}

// nested are conditions with a given number of nested levels.
var nested = map[string]func(times int) string{
	"brackets":  func(n int) string { return strings.Repeat("(", n) + "true" + strings.Repeat(")", n) },
	"negations": func(n int) string { return strings.Repeat("!", n) + "object.a" },
	"lists":     func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) + " == object.a" },
	"fields":    func(n int) string { return "object" + strings.Repeat(".a", n) + " == 1" },
	"optionals": func(n int) string { return "object" + strings.Repeat(".?a", n) + ".orValue(1) == 1" },
	"indices":   func(n int) string { return "object.a" + strings.Repeat("[0]", n) + " == 1" },
	"calls":     func(n int) string { return "object.a" + strings.Repeat(".trim()", n) + " == 'a'" },
	"functions": func(n int) string {
		return strings.Repeat("string(", n) + "object.a" + strings.Repeat(")", n) + " == 'a'"
	},
	"sums":         func(n int) string { return "object.a == 1" + strings.Repeat(" + 1", n) },
	"conjunctions": func(n int) string { return "object.a" + strings.Repeat(" && object.a", n) },
	"choices":      func(n int) string { return "object.a" + strings.Repeat(" ? true : false", n) },
	"loops":        func(n int) string { return strings.Repeat("[1].all(x, ", n) + "true" + strings.Repeat(")", n) },
}

// nestings are below and above polex's limit and the servers'. None is close below the latter,
// where Kyverno's webhook would exceed its timeout.
var nestings = []int{50, 90, 110, 150, 270, 500}

// lengths are lengths of a condition below and above polex's limit.
var lengths = []int{10_000, 10_240, 10_241, 100_000}
