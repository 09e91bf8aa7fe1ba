package verify_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/verify"
)

// reconcile acts upon an object if it verifies.
func reconcile(v *verify.Verifier, object *unstructured.Unstructured, now time.Time) (string, error) {
	doc, err := exception.FromObject(object.Object)
	if err != nil {
		return "", err
	}
	verified, err := v.Verify(doc, now)
	var rejected *verify.Rejected
	switch {
	case errors.As(err, &rejected):
		return fmt.Sprintf("%s is refused: %s", object.GetName(), rejected.Reason), nil
	case err != nil:
		return "", err // undecided: do nothing and try again
	}
	// From here on, use the signed message, not the given object.
	signed := verified.Message()
	policy := signed.Text("spec", "exceptions", 0, "policyName")
	return fmt.Sprintf("%s is an exception to %s until %s", signed.Identity(), policy, verified.ExpiresAt().Format(time.RFC3339)), nil
}

// A controller verifies an object of the cluster before it acts upon it.
func Example() {
	verifier, err := verify.FromFile("testdata/sealed.policy.yaml") // once, when the controller starts
	if err != nil {
		log.Fatal(err)
	}
	object := fromCluster("testdata/sealed.yaml")
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) // time.Now() in a controller

	answer, err := reconcile(verifier, object, now)
	fmt.Println(answer, err)

	// An attacker with access to the cluster widens it.
	if err := unstructured.SetNestedField(object.Object, "*", "spec", "exceptions"); err != nil {
		log.Fatal(err)
	}
	answer, err = reconcile(verifier, object, now)
	fmt.Println(answer, err)

	// Output:
	// PolicyException.kyverno.io b/a is an exception to p until 2026-11-27T21:22:30Z <nil>
	// a is refused: altered <nil>
}

// fromCluster plays an informer or a client: the API server has added its fields.
func fromCluster(path string) *unstructured.Unstructured {
	raw, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	if raw, err = yaml.YAMLToJSON(raw); err != nil {
		log.Fatal(err)
	}
	object := new(unstructured.Unstructured)
	if err := object.UnmarshalJSON(raw); err != nil {
		log.Fatal(err)
	}
	object.SetUID("3f0c5e0a-6a0e-4c62-9d39-7f5c6f0f7b1e")
	object.SetResourceVersion("1207")
	object.SetGeneration(1)
	return object
}
