package cli_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/polex-dev/polex/internal/sandbox/tufrepo"
)

// tufServer holds the TUF repository of a script.
type tufServer struct{ repository *tufrepo.Repository }

// tufKey is its key in the script's values.
type tufKeyType struct{}

var tufKey = tufKeyType{}

// tuf serve FILE starts a TUF repository at $TUF with the file as the trusted root, and writes its
// root.json. Then tuf publish FILE replaces the file, tuf expire FILE publishes it with expired
// metadata, and tuf break PATH publishes a wrong signature.
func tuf(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: tuf serve|publish|expire|break file")
	}
	server := ts.Value(tufKey).(*tufServer)
	content := func() []byte {
		raw, err := os.ReadFile(ts.MkAbs(args[1]))
		ts.Check(err)
		return raw
	}
	good := time.Now().Add(24 * time.Hour)
	switch args[0] {
	case "serve":
		var err error
		server.repository, err = tufrepo.New(content(), good)
		ts.Check(err)
		web := httptest.NewServer(server.repository)
		ts.Defer(web.Close)
		ts.Setenv("TUF", web.URL)
		ts.Check(os.WriteFile(ts.MkAbs("root.json"), server.repository.Root(), 0o600))
	case "publish":
		ts.Check(server.repository.Publish(content(), good))
	case "expire":
		ts.Check(server.repository.Publish(content(), time.Now().Add(-time.Minute)))
	case "break":
		raw := bytes.Clone(server.repository.File(args[1]))
		i := bytes.Index(raw, []byte(`"sig":"`))
		if i < 0 {
			ts.Fatalf("%s has no signature", args[1])
		}
		digit := &raw[i+len(`"sig":"`)]
		*digit = map[bool]byte{true: '1', false: '0'}[*digit == '0']
		server.repository.Replace(args[1], raw)
	default:
		ts.Fatalf("unknown: tuf %s", args[0])
	}
}
