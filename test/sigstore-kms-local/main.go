// Sigstore-kms-local is a plug-in of sigstore's KMS protocol whose key is in a file.
package main

import (
	"context"
	"crypto"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/handler"
)

// local has the methods of the protocol that signing needs.
type local struct{ signature.SignerVerifier }

var errNotHere = errors.New("it is not available here")

func (local) CreateKey(context.Context, string) (crypto.PublicKey, error) { return nil, errNotHere }
func (local) CryptoSigner(context.Context, func(error)) (crypto.Signer, crypto.SignerOpts, error) {
	return nil, nil, errNotHere
}
func (local) SupportedAlgorithms() []string { return nil }
func (local) DefaultAlgorithm() string      { return "" }

func main() {
	if err := run(); err != nil {
		_ = handler.WriteErrorResponse(os.Stdout, err) // the caller reports a missing answer
	}
}

func run() error {
	args, err := handler.GetPluginArgs(os.Args)
	if err != nil {
		return err
	}
	if args.InitOptions.KeyResourceID == "never" {
		time.Sleep(20 * time.Minute) //nolint:forbidigo // a plug-in that does not answer: longer than tests may take
	}
	raw, err := os.ReadFile(args.InitOptions.KeyResourceID)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return fmt.Errorf("%s holds no key", args.InitOptions.KeyResourceID)
	}
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(raw, cryptoutils.SkipPassword)
	if err != nil {
		return err
	}
	signer, err := signature.LoadSignerVerifier(key, args.InitOptions.HashFunc)
	if err != nil {
		return err
	}
	_, err = handler.Dispatch(os.Stdout, os.Stdin, args, local{signer})
	return err
}
