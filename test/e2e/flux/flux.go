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

// starting is how long the controller may take until it is ready.
const starting = time.Minute

// sources is where GitRepository is defined.
const sources = "github.com/fluxcd/source-controller@v1.9.6"

// Options say where the program is, and which cluster it looks after.
type Options struct {
	Binaries string // folder that holds kustomize-controller
	Tools    string // folder of the module that pins it
	Dir      string // for data and logs; an empty one
	Cluster  *cluster.Cluster
}

// Flux is a running one.
type Flux struct {
	options   Options
	group     *servers.Group
	artifacts *http.Server
	address   string // of the artifacts, host:port
}

// Start runs the controller, and returns once it is ready. It ends with Close or with
// the context.
func Start(ctx context.Context, options Options) (*Flux, error) {
	f := &Flux{options: options, group: &servers.Group{Binaries: options.Binaries, Dir: options.Dir}}
	within, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for _, step := range []func(ctx, within context.Context) error{f.install, f.serve, f.startController} {
		if err := step(ctx, within); err != nil {
			err = fmt.Errorf("%w\n%s", err, f.Logs())
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// Close ends the controller.
func (f *Flux) Close() error {
	f.group.Stop()
	if f.artifacts == nil {
		return nil
	}
	return f.artifacts.Close()
}

// Logs are the last lines of the controller.
func (f *Flux) Logs() string { return f.group.Logs() }

// Until asks again and again whether something is there yet, until the context ends
// or the controller does.
func (f *Flux) Until(ctx context.Context, what string, ask func(context.Context) error) error {
	return f.group.Until(ctx, what, ask)
}

// install applies the definitions of both controllers, as they are shipped.
func (f *Flux) install(_, within context.Context) error {
	for _, module := range []string{"github.com/fluxcd/kustomize-controller", sources} {
		source, err := servers.Source(within, f.options.Tools, module)
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
	for _, kind := range []cluster.Object{gitRepository, kustomization} {
		if err := f.Until(within, kind.Kind, func(ctx context.Context) error {
			_, err := f.options.Cluster.Path(ctx, kind)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// serve hands out artifacts.
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
	go func() { _ = f.artifacts.Serve(listener) }() // ends with Close
	return nil
}

func (f *Flux) startController(ctx, within context.Context) error {
	free, err := servers.FreePorts(2)
	if err != nil {
		return err
	}
	health := fmt.Sprintf("127.0.0.1:%d", free[0])
	if err := f.group.Run(ctx, servers.Command{Program: "kustomize-controller", Args: []string{
		"--health-addr", health, "--metrics-addr", fmt.Sprintf("127.0.0.1:%d", free[1]), "--watch-all-namespaces", "--no-cross-namespace-refs", "--no-remote-bases",
	}, Env: []string{"KUBECONFIG=" + f.options.Cluster.Kubeconfig(), "RUNTIME_NAMESPACE=default", "TMPDIR=" + f.options.Dir}}); err != nil {
		return err
	}
	client := &http.Client{Timeout: 5 * time.Second}
	return f.Until(within, "the controller", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+health+"/readyz", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
}
