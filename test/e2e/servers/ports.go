package servers

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The range of ports for programs. Systems use other ports, from 32768 on, for outgoing
// connections. Such a connection could take the port of a program that starts slowly.
const firstPort, lastPort = 10240, 32767

// Loopback returns a port of this machine as host:port.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// FreePorts returns ports that are free now. If another process takes one before its use, the
// program fails with a message.
func FreePorts(n int) ([]int, error) {
	var found []int
	for tries := 0; len(found) < n; tries++ {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		l, err := net.Listen("tcp", Loopback(port))
		if err != nil {
			if tries < 1000 {
				continue
			}
			return nil, err
		}
		defer l.Close() // after the loop, so that no port is found twice
		found = append(found, port)
	}
	return found, nil
}
