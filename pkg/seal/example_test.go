package seal_test

import (
	"fmt"
	"log"
	"os"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// A tool shows the differences between an exception and its signed message. Package verify verifies the signature.
func Example() {
	raw, err := os.ReadFile("../verify/testdata/sealed.yaml")
	if err != nil {
		log.Fatal(err)
	}
	doc, err := exception.Parse(raw, "sealed.yaml")
	if err != nil {
		log.Fatal(err)
	}
	s, err := seal.Read(doc)
	if err != nil {
		log.Fatal(err)
	}
	signed, err := seal.ParseMessage(s.Message)
	if err != nil {
		log.Fatal(err)
	}
	applied := doc.Object()
	applied["spec"].(map[string]any)["background"] = false
	altered, err := exception.FromObject(applied)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(s.Signatures), "signature of", signed.Identity())
	fmt.Println(seal.Compare(doc, signed, 3))
	fmt.Println(seal.Compare(altered, signed, 3))
	// Output:
	// 1 signature of PolicyException.kyverno.io b/a
	// []
	// [spec.background is false, signed as true]
}
