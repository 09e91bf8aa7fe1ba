package story

import (
	"context"
	"fmt"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/e2e/gitserver"
)

// startGit serves a repository made of the template.
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

// Propose opens a pull request with files, and runs the template's workflow for it.
func (w *World) Propose(ctx context.Context, branch string, files map[string]string) (*github.Log, error) {
	if _, err := w.Exceptions.Propose(ctx, branch, files); err != nil {
		return nil, err
	}
	return w.Check(ctx, branch)
}

// Check runs the template's workflow for a pull request from a branch.
func (w *World) Check(ctx context.Context, branch string) (*github.Log, error) {
	base, err := w.Exceptions.Git(ctx, "rev-parse", "main")
	if err != nil {
		return nil, err
	}
	if _, err := w.Exceptions.Offer(ctx, branch); err != nil {
		return nil, err
	}
	return w.Exceptions.Play(ctx, github.Proposed(base))
}

// Merge merges pull requests, and runs the template's workflow for the last one. This run also
// signs the exceptions of the others.
func (w *World) Merge(ctx context.Context, branches ...string) (*github.Log, error) {
	merged := ""
	for _, branch := range branches {
		var err error
		if merged, err = w.Exceptions.Merge(ctx, branch); err != nil {
			return nil, err
		}
	}
	return w.sign(ctx, merged)
}

// Night runs the template's scheduled workflow.
func (w *World) Night(ctx context.Context) (*github.Log, error) {
	play := github.Scheduled()
	play.API = w.api.URL
	log, err := w.Exceptions.Play(ctx, play)
	if err != nil {
		return nil, err
	}
	return log, w.pull(ctx)
}

// PullRequest returns the address of the pull request that a commit merged.
func (w *World) PullRequest(merge string) string {
	return fmt.Sprintf("https://github.com/%s/%s/pull/%d", github.Owner, github.Name, w.api.PullRequest(merge))
}

// sign runs the workflow for the merged commit, which is checked out.
func (w *World) sign(ctx context.Context, merged string) (*github.Log, error) {
	// The token of a job names the job's commit.
	token, err := w.Issuer.Token(sandbox.Identity{SHA: merged}, "sigstore")
	if err != nil {
		return nil, err
	}
	play := github.Pushed(merged)
	play.Env, play.API = []string{"SIGSTORE_ID_TOKEN=" + token}, w.api.URL
	log, err := w.Exceptions.Play(ctx, play)
	if err != nil {
		return nil, err
	}
	return log, w.pull(ctx)
}

// pull pulls main from the Git server.
func (w *World) pull(ctx context.Context) error {
	_, err := w.Exceptions.Git(ctx, "pull", "--quiet", "--ff-only")
	return err
}

// Publish pushes files to a branch of their own, without a review. Any user with push access can do
// that, so the cluster must reject it.
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
