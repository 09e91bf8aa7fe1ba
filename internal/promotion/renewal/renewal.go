package renewal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"

	"github.com/polex-dev/polex/internal/kyverno/schema"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// Continues returns nil if a document is a valid renewal of a signed exception. It returns an error
// if the document names another predecessor, has a wrong number or exempts something else. The
// statements and the expiry may differ.
func Continues(successor, signed *exception.Document) error {
	before, err := Read(signed)
	if err != nil {
		return fmt.Errorf("its predecessor: %w", err)
	}
	after, ok := successor.Exception()
	if !ok {
		return errNoException
	}
	said, err := after.Renewal()
	switch {
	case err != nil:
		return err
	case said.Name+"@"+said.Digest != before.Named:
		return fmt.Errorf("it renews %s@%s, and the signed one is %s", said.Name, said.Digest, before.Named)
	case said.Number != before.Number+1:
		return fmt.Errorf("it states that it is renewal %d, expected %d", said.Number, before.Number+1)
	}
	whole, err := successor.Add(schema.Defaults(successor)...)
	if err != nil {
		return err
	}
	if before.Identity.GroupKind != after.Identity.GroupKind || before.Identity.Namespace != after.Identity.Namespace ||
		!reflect.DeepEqual(exempts(before.Message), exempts(whole)) {
		return errors.New("it does not exempt the same as its predecessor: request a new exception")
	}
	return nil
}

// exempts returns the part of a spec that defines the exemption.
func exempts(doc *exception.Document) map[string]any {
	spec, _ := doc.Object()["spec"].(map[string]any)
	delete(spec, "expiresAt")
	delete(spec, "properties")
	return spec
}

var errNoException = errors.New("it is not a PolicyException")

// Predecessor is a signed exception, as its signature annotations describe it. The caller must
// verify the signer.
type Predecessor struct {
	Identity exception.Identity
	Message  *exception.Document // the signed content
	Named    string              // its name in a renewal
	Number   int                 // its number in a row of renewals
}

// Read reads a signed exception. An unsigned one is [seal.ErrUnsigned].
func Read(signed *exception.Document) (*Predecessor, error) {
	s, err := seal.Read(signed)
	if err != nil {
		return nil, err
	}
	message, err := seal.ParseMessage(s.Message)
	if err != nil {
		return nil, fmt.Errorf("the signed content cannot be read: %w", err)
	}
	e, ok := message.Exception()
	if !ok {
		return nil, errNoException
	}
	renewal, err := e.Renewal()
	if err != nil {
		return nil, fmt.Errorf("its reference to its own predecessor: %w", err)
	}
	sum := sha256.Sum256(s.Message)
	return &Predecessor{e.Identity, message, e.Identity.Name + "@sha256:" + hex.EncodeToString(sum[:]), renewal.Number},
		nil
}
