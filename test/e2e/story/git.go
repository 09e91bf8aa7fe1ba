package story

import (
	"context"
	"fmt"

	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/e2e/gitserver"
)

// startGit serves the repository, made of the template.
func (w *World) startGit(ctx context.Context) error {
	var err error
	if w.git, err = gitserver.Start(ctx, w.at("git")); err != nil {
		return err
	}
	w.ends = append(w.ends, w.git.Close)
	w.GitURL = w.git.URL(github.Name)
	files, err := github.Template(w.Root, github.Sigstore{IssuerURL: w.Issuer.IssuerURL, FulcioURL: w.Sigstore.FulcioURL, RekorURL: w.Sigstore.RekorURL,
		TrustedRootPath: w.Sigstore.TrustedRootPath})
	if err != nil {
		return err
	}
	if w.Exceptions, err = w.runner.Repository(ctx, w.at("exceptions"), files); err != nil {
		return err
	}
	if err := w.Exceptions.Push(ctx, w.git.Path(github.Name), w.GitURL); err != nil {
		return err
	}
	if w.api, err = w.Exceptions.API(ctx, true); err != nil {
		return err
	}
	w.ends = append(w.ends, w.api.Close)
	return nil
}

// Propose asks for files in a pull request, and runs the template's workflow for
// it.
func (w *World) Propose(ctx context.Context, branch string, files map[string]string) (*github.Log, error) {
	base, err := w.Exceptions.Git(ctx, "rev-parse", "main")
	if err != nil {
		return nil, err
	}
	if _, err := w.Exceptions.Propose(ctx, branch, files); err != nil {
		return nil, err
	}
	return w.Exceptions.Play(ctx, github.Proposed(base))
}

// Merge merges a pull request, and runs the template's workflow for that.
func (w *World) Merge(ctx context.Context, branch string) (*github.Log, error) {
	merged, err := w.Exceptions.Merge(ctx, branch)
	if err != nil {
		return nil, err
	}
	return w.sign(ctx, merged)
}

// sign runs the workflow for what was merged, which is checked out.
func (w *World) sign(ctx context.Context, merged string) (*github.Log, error) {
	play := github.Pushed(merged)
	play.Env, play.API = w.Issuer.Environ(), w.api.URL
	log, err := w.Exceptions.Play(ctx, play)
	if err != nil {
		return nil, err
	}
	return log, w.pull(ctx)
}

// pull takes over what the Git server has on main.
func (w *World) pull(ctx context.Context) error {
	_, err := w.Exceptions.Git(ctx, "pull", "--quiet", "--ff-only")
	return err
}

// Publish pushes files to a branch of their own, past every review: what somebody
// does who may push, and what becomes of it is for the cluster.
func (w *World) Publish(ctx context.Context, branch string, files map[string]string) error {
	if _, err := w.Exceptions.Propose(ctx, branch, files); err != nil {
		return err
	}
	for _, args := range [][]string{{"push", "--quiet", "origin", branch}, {"switch", "--quiet", "main"}} {
		if _, err := w.Exceptions.Git(ctx, args...); err != nil {
			return fmt.Errorf("publish %s: %w", branch, err)
		}
	}
	return nil
}
