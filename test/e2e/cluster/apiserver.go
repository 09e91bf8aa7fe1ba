package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// startAPIServer runs etcd and the API server, and makes the client.
func (c *Cluster) startAPIServer(ctx, within context.Context) error {
	free, err := servers.FreePorts(3)
	if err != nil {
		return err
	}
	etcd, peers := fmt.Sprintf("http://127.0.0.1:%d", free[0]), fmt.Sprintf("http://127.0.0.1:%d", free[1])
	token := rand.Text()
	at := func(name string) string { return filepath.Join(c.options.Dir, name) }
	if err := write(at("tokens.csv"), token+",admin,admin,system:masters\n"); err != nil {
		return err
	}
	if err := writeKeyPair(at("sa.key"), at("sa.pub")); err != nil {
		return err
	}
	if err := c.makeClientCA(); err != nil {
		return err
	}
	if err := c.Run(ctx, servers.Command{Program: servers.Kubernetes(c.options.Binaries, Etcd), Args: []string{
		"--data-dir", at("etcd"), "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default=" + peers,
		"--unsafe-no-fsync",
	}}); err != nil {
		return err
	}
	if err := write(at("audit.yaml"), auditPolicy(c.options.Audited)); err != nil {
		return err
	}
	if err := c.Run(ctx, servers.Command{Program: servers.Kubernetes(c.options.Binaries, APIServer), Args: append([]string{
		"--etcd-servers=" + etcd, fmt.Sprintf("--secure-port=%d", free[2]), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		// Nothing here uses a Service.
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--cert-dir=" + at("certs"), "--service-account-key-file=" + at("sa.pub"), "--service-account-signing-key-file=" + at("sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--token-auth-file=" + at("tokens.csv"),
		"--client-ca-file=" + at(clientCA),
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
		"--audit-policy-file=" + at("audit.yaml"), "--audit-log-path=" + c.AuditLog(),
	}, c.options.Flags...)}); err != nil {
		return err
	}
	server := fmt.Sprintf("https://127.0.0.1:%d", free[2])
	authority := at("certs/apiserver.crt")
	if err := c.Until(within, "the API server", func(ctx context.Context) error {
		if c.Client, err = newClient(server, token, authority); err != nil {
			return err
		}
		return c.ready(ctx)
	}); err != nil {
		return err
	}
	return write(c.Kubeconfig(), c.kubeconfig(token))
}

// auditPolicy logs the requests of some users only.
func auditPolicy(users []string) string {
	rules := "rules:\n"
	if len(users) > 0 {
		rules += fmt.Sprintf("- {level: Metadata, omitStages: [RequestReceived], users: [%s]}\n", strings.Join(users, ", "))
	}
	return "apiVersion: audit.k8s.io/v1\nkind: Policy\n" + rules + "- {level: None}\n"
}

// writeKeyPair makes the key for ServiceAccounts' tokens, which the API server requires.
func writeKeyPair(private, public string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := write(private, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))); err != nil {
		return err
	}
	return write(public, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
}
