package request

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// Continues says why a document is not the renewal of a signed exception that it
// says it is: it names another message, counts otherwise, or exempts something else.
// It is nil where it is. What both say of themselves may differ, and the time.
func Continues(successor, signed *exception.Document) error {
	s, err := seal.Read(signed)
	if err != nil {
		return fmt.Errorf("its predecessor is not sealed: %w", err)
	}
	message, err := seal.ParseMessage(s.Message)
	if err != nil {
		return fmt.Errorf("what was signed of its predecessor cannot be read: %w", err)
	}
	before, ok := message.Exception()
	after, both := successor.Exception()
	if !ok || !both {
		return errors.New("it is no PolicyException")
	}
	chain, err := before.Renewal()
	if err != nil {
		return fmt.Errorf("its predecessor: %w", err)
	}
	said, err := after.Renewal()
	switch {
	case err != nil:
		return err
	case said.Name+"@"+said.Digest != renewsText(before.Identity.Name, s.Message):
		return fmt.Errorf("it says that it renews %s@%s, and what is signed is %s", said.Name, said.Digest, renewsText(before.Identity.Name, s.Message))
	case said.Number != chain.Number+1:
		return fmt.Errorf("it says that it is renewal %d, and it is %d", said.Number, chain.Number+1)
	}
	whole, err := successor.Add(exception.Defaults(successor)...)
	if err != nil {
		return err
	}
	if before.Identity.GroupKind != after.Identity.GroupKind || before.Identity.Namespace != after.Identity.Namespace || !reflect.DeepEqual(exempts(message), exempts(whole)) {
		return errors.New("it does not exempt the same as its predecessor: request it anew")
	}
	return nil
}

// exempts returns what a spec exempts, without what it says of itself.
func exempts(doc *exception.Document) map[string]any {
	spec := child(doc.Object(), "spec")
	delete(spec, "expiresAt")
	delete(spec, "properties")
	return spec
}

// renewsText is what a renewal of a signed message says.
func renewsText(name string, message []byte) string {
	sum := sha256.Sum256(message)
	return name + "@sha256:" + hex.EncodeToString(sum[:])
}
