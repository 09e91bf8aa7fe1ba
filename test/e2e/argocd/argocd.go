package argocd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// Namespace is the namespace of Argo CD and its Applications.
const Namespace = "argocd"

// starting is the timeout for the start of all servers.
const starting = 2 * time.Minute

// Options has the folders of the programs and the cluster.
type Options struct {
	Binaries string // folder with argocd
	Tools    string // folder of the module with its version
	Dir      string // an empty folder for data and logs
	Cluster  *cluster.Cluster
}

// ArgoCD is a running Argo CD.
type ArgoCD struct {
	*servers.Group

	options Options
	redis   string // host:port
	repo    string // of the repository server
}

// Start starts everything, and returns when the controller works on an Application. The processes
// stop with Close or with the context.
func Start(ctx context.Context, options Options) (*ArgoCD, error) {
	a := &ArgoCD{options: options, Group: &servers.Group{Binaries: options.Dir, Dir: options.Dir}}
	if err := a.Steps(ctx, starting, a.lay, a.install, a.startRedis, a.startRepoServer, a.startController); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *ArgoCD) at(name string) string { return filepath.Join(a.options.Dir, name) }

// The servers in the one binary. It selects the server by its file name.
const (
	repoServer   = "argocd-repo-server"
	controller   = "argocd-application-controller"
	pluginServer = "argocd-cmp-server"
)

// lay creates the folders of Argo CD's images, and links the binary to its names.
func (a *ArgoCD) lay(context.Context, context.Context) error {
	for _, folder := range []string{"tmp", "gnupg", "ssh", "tls", "plugins", "cmp", "bin"} {
		if err := os.MkdirAll(a.at(folder), 0o700); err != nil {
			return err
		}
	}
	for _, name := range []string{repoServer, controller, pluginServer} {
		if err := os.Symlink(filepath.Join(a.options.Binaries, "argocd"), a.at(name)); err != nil {
			return err
		}
	}
	// Argo CD runs "kustomize build"; kubectl contains the same kustomize.
	build := "#!/bin/sh\nshift\nexec '" + servers.Kubernetes(a.options.Binaries, "kubectl") + "' kustomize \"$@\"\n"
	return os.WriteFile(filepath.Join(a.at("bin"), "kustomize"), []byte(build), 0o700) //nolint:gosec // a program
}

// env returns the variables of every process: its own folders, and the cluster as if it ran inside.
func (a *ArgoCD) env() []string {
	return []string{
		"TMPDIR=" + a.at("tmp"), "HOME=" + a.at("tmp"), "ARGOCD_GPG_ENABLED=false", "ARGOCD_GNUPGHOME=" + a.at("gnupg"),
		"ARGOCD_SSH_DATA_PATH=" + a.at("ssh"), "ARGOCD_TLS_DATA_PATH=" + a.at("tls"),
		"ARGOCD_PLUGINSOCKFILEPATH=" + a.at("plugins"), "ARGOCD_CMP_WORKDIR=" + a.at("cmp"),
		"PATH=" + a.at("bin") + ":" + os.Getenv("PATH"), "ARGOCD_FAKE_IN_CLUSTER=true", "KUBECONFIG=" + a.options.Cluster.Kubeconfig(),
	}
}

func (a *ArgoCD) startRedis(ctx, within context.Context) error {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("find Redis, which Debian has as redis-server: %w", err)
	}
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	a.redis = servers.Loopback(free[0])
	if err := a.Run(ctx, servers.Command{Program: program, Args: []string{
		"--bind", "127.0.0.1", "--port", fmt.Sprint(free[0]), "--save", "", "--appendonly", "no", "--dir", a.options.Dir,
	}}); err != nil {
		return err
	}
	return a.Listens(within, a.redis)
}

func (a *ArgoCD) startRepoServer(ctx, within context.Context) error {
	free, err := servers.FreePorts(2)
	if err != nil {
		return err
	}
	a.repo = servers.Loopback(free[0])
	if err := a.Run(ctx, servers.Command{Program: repoServer, Env: a.env(), Args: []string{
		"--address", "127.0.0.1", "--port", fmt.Sprint(free[0]), "--metrics-address", "127.0.0.1", "--metrics-port", fmt.Sprint(free[1]),
		"--redis", a.redis, "--disable-tls",
		// A refresh sees a pushed commit at once, not minutes later.
		"--revision-cache-expiration", "1s",
	}}); err != nil {
		return err
	}
	return a.Listens(within, a.repo)
}
