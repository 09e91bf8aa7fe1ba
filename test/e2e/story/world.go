package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/e2e/gitserver"
	"github.com/polex-dev/polex/test/e2e/guard"
	"github.com/polex-dev/polex/test/e2e/sigstore"
)

// WaitLimit is the timeout for expected events.
const WaitLimit = 2 * time.Minute

// Options has the folders.
type Options struct {
	Root string    // of this repository, with the programs in bin/e2e
	Dir  string    // for data and logs; an empty folder with an absolute path
	Log  io.Writer // a line for each started service
}

// World is the set of running services. Close it.
type World struct {
	Options
	Issuer     *sandbox.Sandbox // of GitHub's tokens
	Sigstore   *sigstore.Sigstore
	Cluster    *cluster.Cluster
	Guard      *guard.Process
	ArgoCD     *argocd.ArgoCD
	GitURL     string // of the repository
	Exceptions *github.Repository
	// TrustPolicy is the path of the guard's configuration.
	TrustPolicy string

	runner *github.Runner
	api    *github.API
	git    *gitserver.Server
	ends   []func() error // in order of start
	began  time.Time
}

// Start starts everything, and returns when the API server calls the guard and Kyverno rejects
// Pods. Everything stops with Close or with the context.
func Start(ctx context.Context, options Options) (*World, error) {
	w := &World{Options: options, TrustPolicy: filepath.Join(options.Dir, "guard", "trust.yaml"), began: time.Now()}
	for _, dir := range []string{"sandbox", "sigstore", "cluster", "guard", "runner", "git", "argocd", "exceptions", "home"} {
		if err := os.Mkdir(w.at(dir), 0o700); err != nil {
			return nil, err
		}
	}
	for _, step := range []struct {
		what string
		run  func(context.Context) error
	}{
		{"the runner", w.startRunner},
		{"Sigstore", w.startSigstore},
		{"the API server and Kyverno", w.startCluster},
		{"the Git server", w.startGit},
		{"the guard", w.startGuard},
		{"the policies", w.startPolicies},
		{"Argo CD", w.startArgoCD},
	} {
		if err := step.run(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", step.what, err), w.Close())
		}
		fmt.Fprintf(w.Log, "%4.0fs  %s\n", time.Since(w.began).Seconds(), step.what)
	}
	return w, nil
}

// Close stops every process, the last one first. The folder stays.
func (w *World) Close() error {
	var all []error
	for _, end := range slices.Backward(w.ends) {
		all = append(all, end())
	}
	w.ends = nil
	return errors.Join(all...)
}

// Logs returns the last lines of every process.
func (w *World) Logs() string {
	return w.Sigstore.Logs() + w.Cluster.Logs() + w.Guard.Logs() + w.ArgoCD.Logs()
}

func (w *World) startRunner(ctx context.Context) error {
	var err error
	w.runner, err = github.NewRunner(ctx, github.Options{Root: w.Root, Dir: w.at("runner")})
	return err
}

func (w *World) startSigstore(ctx context.Context) error {
	var err error
	// It issues GitHub's tokens. Its own Fulcio and Rekor are not used.
	if w.Issuer, err = sandbox.Start(ctx, sandbox.Options{Dir: w.at("sandbox"), RekorVersions: []int{1},
		Identity: sandbox.Identity{Repository: github.Owner + "/" + github.Name, WorkflowFile: github.MergeFile}}); err != nil {
		return err
	}
	w.ends = append(w.ends, w.Issuer.Close)
	if w.Sigstore, err = sigstore.Start(ctx, sigstore.Options{Binaries: w.binaries(), Tools: w.tools("sigstore"), Dir: w.at("sigstore"),
		Workflows: []string{w.Issuer.IssuerURL}}); err != nil {
		return err
	}
	w.ends = append(w.ends, w.Sigstore.Close)
	return nil
}

func (w *World) startCluster(ctx context.Context) error {
	var err error
	w.Cluster, err = cluster.Start(ctx, cluster.Options{Binaries: w.binaries(), Tools: w.tools("kyverno"), Dir: w.at("cluster"),
		// For Kyverno's own verification of signatures, which reads its trusted keys from here.
		KyvernoEnv: []string{
			"SIGSTORE_ROOT_FILE=" + w.Sigstore.FulcioChainPath, "SIGSTORE_REKOR_PUBLIC_KEY=" + w.Sigstore.RekorKeyPath, "SIGSTORE_CT_LOG_PUBLIC_KEY_FILE=" + w.Sigstore.CTLogKeyPath,
			"HOME=" + w.at("home"), "HTTPS_PROXY=" + nobody, "HTTP_PROXY=" + nobody,
		}, Audited: []string{GuardAccount}})
	if err != nil {
		return err
	}
	w.ends = append(w.ends, w.Cluster.Close)
	for _, name := range []string{Namespace, Team} {
		if err := w.Cluster.CreateNamespace(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// nobody is an address without a server: no program can connect beyond loopback.
const nobody = "http://127.0.0.1:1"

// until repeats a check until it succeeds, for WaitLimit at most.
func (w *World) until(ctx context.Context, what string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, WaitLimit)
	defer cancel()
	return w.Cluster.Until(ctx, what, ask)
}

func (w *World) at(name string) string { return filepath.Join(w.Dir, filepath.FromSlash(name)) }

func (w *World) binaries() string { return filepath.Join(w.Root, "bin", "e2e") }

func (w *World) tools(group string) string {
	return filepath.Join(w.Root, "test", "e2e", "tools", group)
}
