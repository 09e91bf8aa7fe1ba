package kyverno_test

import (
	"testing"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/test/expect"
)

// TestWithOptionalKeys: only a comparison that is false for an object without the key is changed. Any
// other one would exempt such objects.
func TestWithOptionalKeys(t *testing.T) {
	const kind = "object.kind == 'Pod' && "
	for expression, want := range map[string]string{
		kind + "object.metadata.labels['app'] == 'web'":                                              kind + "object.metadata.?labels[?'app'].orValue('') == 'web'",
		kind + `object.metadata.annotations["a/b"] in ['x']`:                                         kind + "object.metadata.?annotations[?'a/b'].orValue('') in ['x']",
		kind + "object.metadata.labels.app == 'web'":                                                 kind + "object.metadata.?labels[?'app'].orValue('') == 'web'",
		kind + "object.metadata.labels['app'] == ''":                                                 "",
		kind + "object.metadata.labels['app'] in ['web', '']":                                        "",
		kind + "!(object.metadata.labels['app'] == 'web')":                                           "",
		kind + "object.metadata.labels['app'] != 'web'":                                              "",
		kind + "(object.metadata.labels['app'] == 'web') == false":                                   "",
		kind + "(object.metadata.labels['app'] == 'web' ? false : true)":                             "",
		"object.metadata.name == 'a' || object.metadata.labels['app'] == 'web'":                      "",
		kind + "['web'].filter(x, object.metadata.labels['app'] == x).size() == 0":                   "",
		kind + "object.metadata.labels['app'] == 'web' && !(object.metadata.labels['tier'] == 'db')": "",
	} {
		if want == "" {
			want = expression
		}
		expect.Equal(t, expression, want, kyverno.WithOptionalKeys(expression))
	}
}
