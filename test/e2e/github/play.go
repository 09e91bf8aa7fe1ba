package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// Play is a workflow to run with its event.
type Play struct {
	Workflow string // its file
	Event    string
	Payload  string // GitHub's data of the event
	Env      []string
	API      string // address of GitHub's API
	// Builds makes the actions build their commands, as without actions/setup. That is slow;
	// otherwise the commands are those of the runner.
	Builds bool
}

// Play runs a workflow for at most five minutes. A failed job is not an error.
func (r *Repository) Play(ctx context.Context, p Play) (*Log, error) {
	dir, err := r.scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	// Each run has its own artifacts.
	artifacts := filepath.Join(dir, "artifacts")
	if err := os.Mkdir(artifacts, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "event.json")
	if err := place(file, p.Payload); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	args := []string{p.Event, "--workflows", p.Workflow, "--eventpath", file, "--platform", "ubuntu-24.04=-self-hosted", "--json", "--no-cache-server", "--action-cache-path", filepath.Join(dir, "actions")}
	if p.Builds {
		p.Env = append(slices.Clone(p.Env), "POLEX_SOURCE=source") // this commit can be of a release
	} else {
		p.Env = append(slices.Clone(p.Env), "POLEX_BIN="+r.Commands)
	}
	if p.API != "" {
		p.Env = append(slices.Clone(p.Env), "GITHUB_API_URL="+p.API, "GITHUB_REPOSITORY="+Owner+"/"+Name)
		args = append(args, "--secret", "GITHUB_TOKEN="+token)
	}
	for _, variable := range p.Env {
		args = append(args, "--env", variable)
	}
	act := r.Command(ctx, r.root("bin/e2e/act"), append(args, r.actions...)...)
	act.Env = append(slices.Clone(act.Env), "ARTIFACTS="+artifacts)
	var out, errs bytes.Buffer
	act.Stdout, act.Stderr = &out, &errs
	// act stops its processes at this signal.
	act.Cancel = func() error { return act.Process.Signal(os.Interrupt) }
	act.WaitDelay = 10 * time.Second
	err = act.Run()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) || ctx.Err() != nil {
		return nil, fmt.Errorf("run act, which `make e2e` builds: %w\n%s%s", errors.Join(err, ctx.Err()), out.Bytes(), errs.Bytes())
	}
	log, unread := readLog(out.Bytes())
	if unread != nil {
		return nil, unread
	}
	if len(log.Results) == 0 {
		return nil, fmt.Errorf("no job was run: %s%s", out.Bytes(), errs.Bytes())
	}
	if log.Succeeded() != (err == nil) {
		return nil, fmt.Errorf("the jobs ended with %q, and act with %w: %s", log.Results, err, errs.Bytes())
	}
	return log, nil
}
