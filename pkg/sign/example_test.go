package sign_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
	"github.com/polex-dev/polex/pkg/sign"
	"github.com/polex-dev/polex/pkg/trust"
)

// A workflow signs with its own identity and the public-good Sigstore.
func Example() {
	ctx := context.Background()
	doc, err := exception.Parse([]byte(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: web, namespace: team-a, annotations: {polex.dev/expires-in: 7d}}
spec:
  exceptions: [{policyName: require-probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [Pod], names: [web], namespaces: [team-a]}}]}
`), "web.yaml")
	if err != nil {
		log.Fatal(err)
	}
	token, err := sign.AmbientToken(ctx, sign.DefaultClientID, sign.Timing{})
	if err != nil {
		log.Fatal(err)
	}
	root, err := trust.PublicGoodRoot()
	if err != nil {
		log.Fatal(err)
	}
	signer, err := sign.Keyless(ctx, sign.Config{Root: root}, sign.PublicFulcioURL, token, time.Now())
	if err != nil {
		log.Fatal(err)
	}
	signed, err := signer.Seal(ctx, []*exception.Document{doc}, time.Now())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", signed[0].Source())
}

// The message to sign is prepared before any request to Sigstore.
func ExamplePrepare() {
	doc, err := exception.Parse([]byte(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: web, namespace: team-a, annotations: {polex.dev/expires-in: 7d}}
spec:
  exceptions: [{policyName: require-probes, ruleNames: [check]}]
  match: {any: [{resources: {kinds: [Pod], names: [web], namespaces: [team-a]}}]}
`), "web.yaml")
	if err != nil {
		log.Fatal(err)
	}
	prepared, err := sign.Prepare([]*exception.Document{doc}, time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC), sign.Rules{})
	if err != nil {
		log.Fatal(err)
	}
	message, err := seal.Message(prepared[0])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", message)
	// Output:
	// apiVersion: kyverno.io/v2
	// kind: PolicyException
	// metadata:
	//   annotations:
	//     polex.dev/expires-at: "2026-06-08T12:00:00Z"
	//     polex.dev/expires-in: 7d
	//   name: web
	//   namespace: team-a
	// spec:
	//   exceptions:
	//   - policyName: require-probes
	//     ruleNames:
	//     - check
	//   match:
	//     any:
	//     - resources:
	//         kinds:
	//         - Pod
	//         names:
	//         - web
	//         namespaces:
	//         - team-a
}
