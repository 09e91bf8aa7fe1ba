package servers

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are picked from these: systems give connections that go out others, from
// 32768 on, and one of them would take a port before a program that takes long to
// start listens on it.
const firstPort, lastPort = 10240, 32767

// Loopback is a port of this machine as host:port.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// FreePorts picks ports that are free now. Another process can take one before
// it is used: then the program says so and ends.
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
		defer l.Close() // when all are found, so that none is found twice
		found = append(found, port)
	}
	return found, nil
}
