package story

import (
	"context"
	"fmt"
	"strconv"

	"github.com/polex-dev/polex/test/e2e/github"
	"github.com/polex-dev/polex/test/e2e/servers"
)

// startGit serves the repository, made of the template.
func (w *World) startGit(ctx context.Context) error {
	free, err := servers.FreePorts(1)
	if err != nil {
		return err
	}
	w.git = &servers.Group{Dir: w.at("git"), Binaries: "/usr/bin"}
	if err := w.git.Run(ctx, servers.Command{Program: "git", Args: []string{"daemon", "--base-path=" + w.at("git"), "--export-all", "--enable=receive-pack",
		"--listen=127.0.0.1", "--port=" + strconv.Itoa(free[0])}}); err != nil {
		return err
	}
	w.ends = append(w.ends, func() error { w.git.Stop(); return nil })
	w.GitURL = fmt.Sprintf("git://127.0.0.1:%d/%s.git", free[0], github.Name)
	files, err := github.Template(w.Root, github.Sigstore{IssuerURL: w.Issuer.IssuerURL, FulcioURL: w.Sigstore.FulcioURL, RekorURL: w.Sigstore.RekorURL,
		TrustedRootPath: w.Sigstore.TrustedRootPath})
	if err != nil {
		return err
	}
	if w.Exceptions, err = w.Exceptions.Runner.Repository(ctx, w.at("exceptions"), files); err != nil {
		return err
	}
	if err := w.Exceptions.Push(ctx, w.at("git/"+github.Name+".git"), w.GitURL); err != nil {
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

// sign runs the workflow of what was merged.
func (w *World) sign(ctx context.Context, merged string) (*github.Log, error) {
	play := github.Pushed(merged)
	play.Env, play.API = w.Issuer.Environ(), w.api.URL
	log, err := w.Exceptions.Play(ctx, play)
	if err != nil {
		return nil, err
	}
	_, err = w.Exceptions.Git(ctx, "pull", "--quiet", "--ff-only")
	return log, err
}
