//go:build e2e

package load

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
)

// The signature annotations.
const (
	domain      = "cosign.sigstore.dev/"
	message     = domain + "message"
	signature   = domain + "signature"
	certificate = domain + "certificate"
	bundle      = domain + "bundle"
	bundleV03   = domain + "bundle.v0.3"
)

// forgery is an attacker's change of a valid exception, with the help of another valid one, and the
// expected reason of the guard.
type forgery struct {
	name, want string
	forge      func(o, other object)
}

var forgeries = []forgery{
	{"the seal taken off", "unsigned", func(o, _ object) { metadata(o)["annotations"] = object{"a": "b"} }},
	{"another policy", "altered", func(o, _ object) { rename(o["spec"], "require-probes", "require-limits") }},
	{"a wider condition", "altered", func(o, _ object) { rename(o["spec"], "web", "w") }},
	{"a label", "altered", func(o, _ object) { metadata(o)["labels"] = object{"a": "b"} }},
	{"a finalizer", "altered", func(o, _ object) { metadata(o)["finalizers"] = []any{"a.b/c"} }},
	{"a longer life", "altered", func(o, _ object) { annotations(o)["polex.dev/expires-at"] = "2099-01-01T00:00:00Z" }},
	{"another annotation", "altered", func(o, _ object) { annotations(o)["kubectl.kubernetes.io/restartedAt"] = "now" }},
	{"another name", "altered", func(o, _ object) { metadata(o)["name"] = metadata(o)["name"].(string) + "-x" }},
	{"another exception's seal", "altered", func(o, other object) { take(o, other, message, signature, certificate, bundle, bundleV03) }},
	{"another exception's message", "evidence-mismatch", func(o, other object) { take(o, other, message) }},
	{"another exception's signature", "evidence-mismatch", func(o, other object) { take(o, other, signature) }},
	{"no certificate", "unknown-key", func(o, _ object) { delete(annotations(o), certificate) }},
	{"no log entry", "no-log-entry", func(o, _ object) { delete(annotations(o), bundle); delete(annotations(o), bundleV03) }},
	{"another exception's log entry", "evidence-mismatch", func(o, other object) { take(o, other, bundle, bundleV03) }},
	{"a signature of one byte", "evidence-mismatch", func(o, _ object) { annotations(o)[signature] = base64.StdEncoding.EncodeToString([]byte("x")) }},
	{"a bit of the signature turned", "evidence-mismatch", func(o, _ object) { turn(o, signature) }},
	{"a bit of the message turned", "malformed-signature", func(o, _ object) { turn(o, message) }},
	{"a bit of the certificate turned", "malformed-signature", func(o, _ object) { turn(o, certificate) }},
	{"a bit of the log entry turned", "malformed-signature", func(o, _ object) { turn(o, bundle) }},
	{"a second signature", "unknown-key", func(o, _ object) { annotations(o)[signature+"_1"] = annotations(o)[signature] }},
	{"an annotation of the seal's that nobody knows", "malformed-signature", func(o, _ object) { annotations(o)[domain+"resourceBundleRef"] = "example.com/a:b" }},

	// Both forms of the evidence must agree. These change one form and keep cosign's.
	{"another exception's message, in one form", "log-entry-mismatch", oneForm(func(o, other object) { take(o, other, message) })},
	{"another exception's signature, in one form", "log-entry-mismatch", oneForm(func(o, other object) { take(o, other, signature) })},
	{"another exception's log entry, in one form", "log-entry-mismatch", oneForm(func(o, other object) { take(o, other, bundle) })},
	{"a signature of one byte, in one form", "log-entry-mismatch", oneForm(func(o, _ object) { annotations(o)[signature] = base64.StdEncoding.EncodeToString([]byte("x")) })},
	{"no certificate, in one form", "unknown-key", oneForm(func(o, _ object) { delete(annotations(o), certificate) })},
}

func oneForm(forge func(o, other object)) func(o, other object) {
	return func(o, other object) {
		delete(annotations(o), bundleV03)
		forge(o, other)
	}
}

// rename replaces a text everywhere.
func rename(value any, from, to string) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, from, to)
	case []any:
		for i := range v {
			v[i] = rename(v[i], from, to)
		}
	case map[string]any:
		for key := range v {
			v[key] = rename(v[key], from, to)
		}
	}
	return value
}

func take(o, other object, keys ...string) {
	for _, key := range keys {
		annotations(o)[key] = annotations(other)[key]
	}
}

// turn flips a bit in the middle of an annotation's decoded value.
func turn(o object, key string) {
	raw, err := base64.StdEncoding.DecodeString(annotations(o)[key].(string))
	if err != nil {
		panic(err)
	}
	raw[len(raw)/2] ^= 1
	annotations(o)[key] = base64.StdEncoding.EncodeToString(raw)
}

// misuse is a signed exception from a signer or for a purpose that the guard does not admit.
type misuse struct {
	name, want string
	by         sandbox.Identity
	draft      fixture.Draft
}

var misuses = []misuse{
	{"signed on a branch", "wrong-identity", sandbox.Identity{Ref: "refs/heads/feature"}, fixture.Draft{}},
	{"signed in another repository", "wrong-identity", sandbox.Identity{Repository: "acme/other"}, fixture.Draft{}},
	{"signed by hand", "wrong-identity", sandbox.Identity{EventName: "workflow_dispatch"}, fixture.Draft{}},
	{"exempts what guards it", "reaches-guard", sandbox.Identity{}, fixture.Draft{Policy: "polex-verify"}},
	{"for another cluster", "another-cluster", sandbox.Identity{},
		fixture.Draft{Annotations: ", polex.dev/cluster: another"}},
	{"for a year", "lifetime-too-long", sandbox.Identity{}, fixture.Draft{Lives: "365d"}},
	{"of the past", "expired", sandbox.Identity{}, fixture.Draft{Lives: short.String()}},
}

// short is a lifetime that is over when tasks returns.
const short = time.Second

// task is an exception to create and its expected result: a reason, or verified.
type task struct {
	name, want string
	target     cluster.Target
	body       []byte
}

const verified = "verified"

// tasks returns n exceptions for a namespace, of both groups in turns, with unique names. Every other one is valid.
func tasks(t testing.TB, namespace string, n int) []task {
	t.Helper()
	var all []task
	for _, target := range targets(namespace) {
		share := n / 2
		drafts := make([]string, share)
		for i := range drafts {
			drafts[i] = fixture.Draft{Name: fmt.Sprintf("e-%05d", i)}.In(target)
		}
		sealed := seal(t, sandbox.Identity{}, drafts...)
		misused := make([][]object, len(misuses))
		for i, m := range misuses {
			m.draft.Name = fmt.Sprintf("misuse-%d", i)
			misused[i] = seal(t, m.by, m.draft.In(target))
		}
		for i, o := range sealed {
			made := task{name: fmt.Sprintf("%s %d, honest", target.Group, i), want: verified, target: target}
			switch kind := i / 2 % (len(forgeries) + len(misuses)); {
			case i%2 == 0:
			case kind < len(forgeries):
				f := forgeries[kind]
				f.forge(o, sealed[i-1])
				made.name, made.want = f.name, f.want
			default:
				m := misuses[kind-len(forgeries)]
				o = misused[kind-len(forgeries)][0]
				made.name, made.want = m.name, m.want
			}
			made.body = asJSON(t, o)
			all = append(all, made)
		}
	}
	<-time.After(short + time.Second) // the short ones have expired, to the second
	return all
}
