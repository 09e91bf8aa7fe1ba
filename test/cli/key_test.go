package cli_test

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sigstore/cosign/v2/pkg/cosign"
)

// keypair PRIVATE PUBLIC PASSWORD writes a key pair in cosign's format.
func keypair(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: keypair private public password")
	}
	keys, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte(args[2]), nil })
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), keys.PrivateBytes, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), keys.PublicBytes, 0o600))
}
