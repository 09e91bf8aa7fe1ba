package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

// starting is how long the servers may take until they are ready.
const starting = 3 * time.Minute

// Options say where the programs are.
type Options struct {
	Binaries string // folder that holds etcd, kube-apiserver and kyverno
	Tools    string // folder of the module that pins Kyverno
	Dir      string // for data and logs; an empty one
}

// Cluster is a running API server with Kyverno.
type Cluster struct {
	*Client

	options   Options
	processes []*process
}

// Start runs everything, and returns once Kyverno judges exceptions. The
// processes end with Close or with the context.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options}
	within, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for _, step := range []func(ctx, within context.Context) error{c.startAPIServer, c.install, c.startKyverno} {
		if err := step(ctx, within); err != nil {
			err = fmt.Errorf("%w\n%s", err, c.Logs())
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Close ends every process, the last one first.
func (c *Cluster) Close() error {
	for _, p := range slices.Backward(c.processes) {
		p.stop()
	}
	c.processes = nil
	return nil
}

// Logs are the last lines of every process.
func (c *Cluster) Logs() string {
	var all strings.Builder
	for _, p := range c.processes {
		fmt.Fprintf(&all, "--- the end of %s\n%s\n", p.log, p.tail())
	}
	return all.String()
}

func (c *Cluster) run(ctx context.Context, what command) error {
	p, err := start(ctx, c.options.Dir, what)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return nil
}

// ports picks ports that are free now. Another process can take one before it
// is used: then the server says so and Start fails.
func ports(n int) ([]int, error) {
	var found []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		found = append(found, l.Addr().(*net.TCPAddr).Port)
	}
	return found, nil
}

func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
