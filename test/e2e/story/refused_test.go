//go:build e2e

package story_test

import (
	"strings"
	"testing"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/story"
)

// attempts are what somebody may bring to the cluster instead, and the reason that
// it is refused for. Each certificate is one that Fulcio issued for it.
var attempts = []struct {
	name, reason string
	ask          story.Ask
	by           story.Signer
	unsigned     bool
	then         *strings.Replacer // what happens to it after signing
}{
	{name: "unsigned", reason: "unsigned", unsigned: true},
	{name: "altered after signing", reason: "altered", then: strings.NewReplacer("[ipc]", `["*"]`, "object.metadata.name == ", "object.metadata.name != ")},
	{name: "signed by another workflow", reason: "wrong-identity", by: signer(sandbox.Identity{WorkflowFile: ".github/workflows/other.yaml"})},
	{name: "signed on another branch", reason: "wrong-identity", by: signer(sandbox.Identity{Ref: "refs/heads/feature"})},
	{name: "signed in another repository", reason: "wrong-identity", by: signer(sandbox.Identity{Repository: "acme/fork"})},
	{name: "expired", reason: "expired", ask: story.Ask{For: "1m"}, by: story.Signer{Behind: 5 * time.Minute}},
	{name: "moved to another namespace", reason: "altered", then: strings.NewReplacer("\n  namespace: team-a", "\n  namespace: team-b")},
	{name: "signed for a namespace without exceptions", reason: "namespace-not-allowed", ask: story.Ask{Namespace: story.OtherNamespace}},
	{name: "exempting from what guards exceptions", reason: "reaches-guard", ask: story.Ask{Policy: "polex-verify"}},
}

func signer(id sandbox.Identity) story.Signer { return story.Signer{Identity: id} }

// TestRefused: whatever else somebody brings is refused by the API server with its
// reason, and is not there.
func TestRefused(t *testing.T) {
	for _, attempt := range attempts {
		t.Run(attempt.name, func(t *testing.T) {
			for _, kind := range story.Kinds {
				t.Run(kind.Name, func(t *testing.T) {
					attempt.ask.Name = strings.ReplaceAll(attempt.name, " ", "-")
					document := kind.Exception(attempt.ask)
					if !attempt.unsigned {
						document = sealed(t, attempt.by, document)
					}
					if attempt.then != nil {
						before := document
						if document = attempt.then.Replace(before); document == before {
							t.Fatal("nothing was changed")
						}
					}
					refused(t, document, attempt.reason)
					notThere(t, kind, attempt.ask.Name)
				})
			}
		})
	}
}

// TestReplay: what was replaced by a newer one does not come back, though it is
// signed and has not ended.
func TestReplay(t *testing.T) {
	for _, kind := range story.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			older := sealed(t, story.Signer{}, kind.Exception(story.Ask{Name: "replayed", For: "30d"}))
			nextSecond(t)
			newer := sealed(t, story.Signer{}, kind.Exception(story.Ask{Name: "replayed", For: "1d"}))
			admitted(t, older)
			admitted(t, newer)
			refused(t, older, "rollback")
		})
	}
}
