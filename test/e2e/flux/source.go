package flux

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// The kinds of a deployment.
var (
	gitRepository = cluster.Object{APIVersion: "source.toolkit.fluxcd.io/v1", Kind: "GitRepository"}
	ociRepository = cluster.Object{APIVersion: "source.toolkit.fluxcd.io/v1", Kind: "OCIRepository"}
	kustomization = cluster.Object{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization"}
)

// Publish publishes an archive as a GitRepository's artifact of a commit.
func (f *Flux) Publish(ctx context.Context, namespace, name, commit string, archive []byte) error {
	where := gitRepository
	where.Namespace, where.Name = namespace, name
	return f.publish(ctx, where, commit, "main@sha1:"+commit, archive)
}

// PublishArtifact publishes an archive as an OCIRepository's artifact.
func (f *Flux) PublishArtifact(ctx context.Context, namespace, name string, archive []byte) error {
	where := ociRepository
	where.Namespace, where.Name = namespace, name
	digest := fmt.Sprintf("%x", sha256.Sum256(archive))
	return f.publish(ctx, where, digest, "main@sha256:"+digest, archive)
}

func (f *Flux) publish(ctx context.Context, where cluster.Object, named, revision string, archive []byte) error {
	file := named + ".tar.gz"
	if err := os.WriteFile(filepath.Join(f.options.Dir, "artifacts", file), archive, 0o600); err != nil {
		return err
	}
	now := time.Now().UTC().Format(time.RFC3339)
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"observedGeneration": 1,
		"conditions":         []any{map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "fetched", "lastTransitionTime": now}},
		"artifact": map[string]any{
			"url": "http://" + f.address + "/" + file, "path": file, "revision": revision,
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(archive)), "lastUpdateTime": now, "size": len(archive),
		},
	}})
	if err != nil {
		return err
	}
	path, err := f.options.Cluster.Path(ctx, where)
	if err != nil {
		return err
	}
	answer, err := f.options.Cluster.Merge(ctx, path+"/status", status)
	if err == nil && !answer.OK() {
		err = errors.New(answer.Message())
	}
	return err
}

// Status is the status of one of Flux's objects.
type Status struct {
	LastAppliedRevision, LastAttemptedRevision string

	Conditions []struct{ Type, Status, Reason, Message string }
}

// Condition returns a condition, such as Ready, and its message.
func (s *Status) Condition(name string) (status, message string) {
	for _, c := range s.Conditions {
		if c.Type == name {
			return c.Status, c.Reason + ": " + c.Message
		}
	}
	return "", ""
}

// Kustomization reads the status of a Kustomization.
func (f *Flux) Kustomization(ctx context.Context, namespace, name string) (*Status, error) {
	where := kustomization
	where.Namespace, where.Name = namespace, name
	return f.status(ctx, where)
}

// GitRepository reads the status of a GitRepository.
func (f *Flux) GitRepository(ctx context.Context, namespace, name string) (*Status, error) {
	where := gitRepository
	where.Namespace, where.Name = namespace, name
	return f.status(ctx, where)
}

func (f *Flux) status(ctx context.Context, where cluster.Object) (*Status, error) {
	path, err := f.options.Cluster.Path(ctx, where)
	if err != nil {
		return nil, err
	}
	answer, err := f.options.Cluster.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	if !answer.OK() {
		return nil, errors.New(answer.Message())
	}
	var object struct{ Status Status }
	return &object.Status, json.Unmarshal(answer.Body, &object)
}
