package verify_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/verify"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

var update = flag.Bool("update", false, "seal testdata/sealed.yaml anew; the times in Example are its")

// long is for changes that differ little from each other: without it, a test makes some of them. make e2e sets it.
var long = flag.Bool("long", false, "change every byte, not every eighth")

// someBytes returns how far apart the changed bytes are.
func someBytes() int {
	if *long {
		return 1
	}
	return 8
}

// kept is a document that was signed once, with the root of its sandbox. Every later version must
// verify it, and a fuzzer's finding must be reproducible.
type kept struct {
	source  []byte
	sealed  *exception.Document
	seal    *seal.Seal
	bare    map[string]any // the document without its signature annotations
	message map[string]any
	now     time.Time
	v       *verify.Verifier
}

const keptDraft = `# A comment, which nobody signs.
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: a
  namespace: b
  annotations:
    polex.dev/expires-in: 7d
spec:
  background: true # here too
  exceptions:
  - policyName: p
    ruleNames: [r]
  match:
    any:
    - resources: {kinds: [Pod], names: ["x-*"]}
`

const keptPolicy = `apiVersion: polex.dev/v1alpha1
kind: Config
trust:
  trustedRoot: sealed.root.json
  authorities:
    - name: merge
      issuer: %s
      subject: %s
`

func openKept(t testing.TB) *kept {
	t.Helper()
	sealedPath, rootPath, policyPath := filepath.Join("testdata", "sealed.yaml"), filepath.Join("testdata", "sealed.root.json"), filepath.Join("testdata", "sealed.policy.yaml")
	if *update {
		w := inWorld(t)
		doc := must.Get(w.signHonestly(t.Context(), keptDraft))(t)
		must.Do(t, os.WriteFile(sealedPath, doc.Source(), 0o644))
		must.Do(t, os.WriteFile(rootPath, w.root, 0o644))
		// The issuer is the sandbox's, with a random port.
		must.Do(t, os.WriteFile(policyPath, fmt.Appendf(nil, keptPolicy, w.IssuerURL, subject), 0o644))
	}
	source := must.Get(os.ReadFile(sealedPath))(t)
	doc := parse(t, string(source))
	s := readSeal(t, doc)
	message := parse(t, string(s.Message))
	expires := must.Get(time.Parse(time.RFC3339, message.Annotation(exception.AnnotationExpiresAt)))(t)
	v := must.Get(verify.FromFile(policyPath))(t)
	v.Remember(nil) // so that a modified signature could match a remembered one
	must.Get(v.Verify(doc, expires.Add(-week)))(t)
	return &kept{source: source, sealed: doc, seal: s, bare: bare(doc), message: message.Object(), now: expires.Add(-week), v: v}
}

func bare(doc *exception.Document) map[string]any {
	root := doc.Object()
	annotations, _ := root["metadata"].(object)["annotations"].(object)
	for key := range annotations {
		if strings.HasPrefix(key, seal.Prefix) {
			delete(annotations, key)
		}
	}
	return root
}

// TestKept: a document that was signed long ago still verifies.
func TestKept(t *testing.T) {
	k := openKept(t)
	judge(t, k.v, k.sealed, k.now, "")
	judge(t, k.v, k.sealed, k.now.Add(week), verify.ReasonExpired)
}

// holds checks one modified source: it is rejected, or its values and its decoded annotations equal the signed ones.
func (k *kept) holds(t testing.TB, source []byte) (accepted bool) {
	t.Helper()
	doc, err := exception.Parse(source, "flipped.yaml")
	if err != nil {
		return false
	}
	verified, err := k.v.Verify(doc, k.now)
	if err != nil {
		expect.That(t, verified == nil, "a refusal and a result")
		expect.That(t, !strings.Contains(err.Error(), "internal error"), "a library panics: %v\n%s", err, source)
		return false
	}
	expect.That(t, reflect.DeepEqual(verified.Message().Object(), k.message), "another message verified:\n%s", source)
	expect.That(t, reflect.DeepEqual(bare(doc), k.bare), "another document verified:\n%s", source)
	if s, err := seal.Read(doc); err != nil || !reflect.DeepEqual(s, k.seal) {
		t.Errorf("another seal verified:\n%s", source)
	}
	return true
}

// TestFlipEveryByte changes every byte of a signed file, and the letter case of every third. The bytes of the
// document itself all change without -long too; of the annotations of the signature, one of eight does.
func TestFlipEveryByte(t *testing.T) {
	k := openKept(t)
	var accepted atomic.Int64
	var done sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		done.Go(func() {
			for i := worker; i < len(k.source); i += workers {
				if i/workers%someBytes() != 0 && bytes.Contains(k.line(i), []byte(seal.Prefix)) {
					continue
				}
				for _, mask := range []byte{0x01, 0x20} {
					if mask == 0x20 && i/workers%3 != 0 {
						continue
					}
					flipped := bytes.Clone(k.source)
					flipped[i] ^= mask
					if k.holds(t, flipped) {
						accepted.Add(1)
					}
				}
			}
		})
	}
	done.Wait()
	comments := len("A comment, which nobody signs.") + len("here too")
	if got, most := accepted.Load(), int64(2*comments); got == 0 || got > most {
		t.Errorf("%d flips of %d bytes are accepted, and there is place for %d", got, len(k.source), most)
	}
}

// line returns the line of a byte.
func (k *kept) line(i int) []byte {
	begin := bytes.LastIndexByte(k.source[:i], '\n') + 1
	text, _, _ := bytes.Cut(k.source[begin:], []byte("\n"))
	return text
}

// FuzzVerifyFlip changes two bytes.
func FuzzVerifyFlip(f *testing.F) {
	k := openKept(f)
	f.Add(uint(0), byte(1), uint(0), byte(0))
	f.Add(uint(len(k.source)-1), byte(0x20), uint(3), byte(0x80))
	f.Fuzz(func(t *testing.T, i uint, a byte, j uint, b byte) {
		flipped := bytes.Clone(k.source)
		flipped[i%uint(len(flipped))] ^= a
		flipped[j%uint(len(flipped))] ^= b
		k.holds(t, flipped)
	})
}

// FuzzVerify verifies any input.
func FuzzVerify(f *testing.F) {
	k := openKept(f)
	f.Add(k.source)
	f.Add([]byte(keptDraft))
	f.Add([]byte("apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata:\n  annotations:\n    cosign.sigstore.dev/message: AAAA\n    cosign.sigstore.dev/signature: AAAA\n"))
	f.Fuzz(func(t *testing.T, source []byte) { k.holds(t, source) })
}
