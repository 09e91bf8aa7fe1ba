package flux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// starting is the timeout for the start of the controller.
const starting = time.Minute

// Options has the folders and the cluster.
type Options struct {
	Binaries string // folder with both controllers
	Tools    string // folder of the modules flux and source, with their versions
	Dir      string // an empty folder for data and logs
	Cluster  *cluster.Cluster
	Fetch    bool // run source-controller
}

// Flux is a running installation.
type Flux struct {
	*servers.Group

	options   Options
	artifacts *http.Server
	address   string // of the artifacts, host:port
}

// Start starts the controllers, and returns when they are ready. They stop with Close or with the
// context.
func Start(ctx context.Context, options Options) (*Flux, error) {
	f := &Flux{options: options, Group: &servers.Group{Binaries: options.Binaries, Dir: options.Dir}}
	if err := f.Steps(ctx, starting, f.install, f.serve, f.startApplying, f.startFetching); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close stops the controllers.
func (f *Flux) Close() error {
	f.Stop()
	if f.artifacts == nil {
		return nil
	}
	return f.artifacts.Close()
}

// install applies the released definitions of both controllers.
func (f *Flux) install(_, within context.Context) error {
	for tool, module := range map[string]string{"flux": "github.com/fluxcd/kustomize-controller", "source": "github.com/fluxcd/source-controller"} {
		source, err := servers.Source(within, filepath.Join(f.options.Tools, tool), module)
		if err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(source, "config/crd/bases/*.yaml"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("find Flux's definitions in %s: %w", source, errors.Join(err, os.ErrNotExist))
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := f.options.Cluster.ApplyAll(within, text); err != nil {
				return fmt.Errorf("install %s: %w", file, err)
			}
		}
	}
	for _, kind := range []cluster.Object{gitRepository, ociRepository, kustomization} {
		if err := f.Until(within, kind.Kind, func(ctx context.Context) error {
			_, err := f.options.Cluster.Path(ctx, kind)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// serve serves artifacts.
func (f *Flux) serve(context.Context, context.Context) error {
	folder := filepath.Join(f.options.Dir, "artifacts")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	f.address = listener.Addr().String()
	f.artifacts = &http.Server{Handler: http.FileServer(http.Dir(folder)), ReadHeaderTimeout: time.Minute}
	go func() { _ = f.artifacts.Serve(listener) }() // stops with Close
	return nil
}

func (f *Flux) startApplying(ctx, within context.Context) error {
	return f.startController(ctx, within, "kustomize-controller", "--no-cross-namespace-refs", "--no-remote-bases")
}

func (f *Flux) startFetching(ctx, within context.Context) error {
	if !f.options.Fetch {
		return nil
	}
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	storage := fmt.Sprintf("127.0.0.1:%d", free[0])
	return f.startController(ctx, within, "source-controller", "--storage-path", f.options.Dir, "--storage-addr", storage, "--storage-adv-addr", storage)
}

// startController starts a program of Flux, and returns when it is ready.
func (f *Flux) startController(ctx, within context.Context, program string, args ...string) error {
	free, err := servers.FreePorts(2)
	if err != nil {
		return err
	}
	health := fmt.Sprintf("127.0.0.1:%d", free[0])
	if err := f.Run(ctx, servers.Command{
		Program: program, Args: append(args, "--health-addr", health, "--metrics-addr", fmt.Sprintf("127.0.0.1:%d", free[1]), "--watch-all-namespaces"),
		Env: []string{"KUBECONFIG=" + f.options.Cluster.Kubeconfig(), "RUNTIME_NAMESPACE=default", "TMPDIR=" + f.options.Dir},
	}); err != nil {
		return err
	}
	return f.Answers(within, "http://"+health+"/readyz", nil)
}
