package cluster

import (
	"context"
	"net/http"
)

// The programs that tests can stop.
const (
	Etcd      = "etcd"
	APIServer = "kube-apiserver"
	Kyverno   = "kyverno"
)

// RestartAPIServer kills the API server and starts it again, and returns when it is ready or the
// context ends. Address and data stay.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if err := c.Restart(context.WithoutCancel(ctx), APIServer); err != nil {
		return err
	}
	return c.Until(ctx, "the API server", c.ready)
}

func (c *Cluster) ready(ctx context.Context) error {
	answer, err := c.Do(ctx, Request{Method: http.MethodGet, Path: "/readyz"})
	if err != nil {
		return err
	}
	return answer.expect(http.StatusOK)
}
