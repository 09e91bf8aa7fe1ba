// Command timestamps is Sigstore's timestamp authority without metrics. The program
// timestamp-server serves metrics on a fixed port of every interface, and stops if that port is
// taken. The answers come from the same package.
package main

import (
	"log"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/sigstore/timestamp-authority/v2/pkg/server"
	"github.com/spf13/viper"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: timestamps ADDRESS")
	}
	host, text, err := net.SplitHostPort(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	// The defaults of timestamp-server, except its clock, which would use the network.
	for key, value := range map[string]any{
		"timestamp-signer": "memory", "timestamp-signer-hash": "sha256", "enforce-intermediate-eku": true,
		"default-policy-oid": "1.3.6.1.4.1.57264.2", "accepted-policy-oids": []string{"1.3.6.1.4.1.57264.2"},
		"max-request-body-size": 1 << 20, "disable-ntp-monitoring": true,
	} {
		viper.Set(key, value)
	}
	const waitLimit = 30 * time.Second
	if err := server.NewRestAPIServer(host, port, []string{"http"}, false, waitLimit, waitLimit).Serve(); err != nil {
		log.Fatal(err)
	}
}
