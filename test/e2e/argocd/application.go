package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/polex-dev/polex/test/e2e/cluster"
)

// Application is what Argo CD says about one: its status, as `kubectl get` shows it.
type Application struct {
	Sync struct {
		Status    string // Synced, OutOfSync, Unknown
		Revision  string
		Revisions []string // where it has several sources
	}
	Health struct{ Status string }
	// Conditions are what keeps it from being compared or synced.
	Conditions     []struct{ Type, Message string }
	ReconciledAt   string
	OperationState *Operation // the last sync; nil before the first
}

// Operation is a sync, and how it went.
type Operation struct {
	Phase      string // Running, Succeeded, Failed, Error
	Message    string
	RetryCount int
	SyncResult struct {
		Revision  string
		Revisions []string
		Resources []struct{ Kind, Name, Namespace, Status, Message, HookType, HookPhase string }
	}
}

// Said is everything that it says in words: what a person would look through for why
// something was refused.
func (s *Application) Said() string {
	var words []string
	for _, condition := range s.Conditions {
		words = append(words, condition.Type+": "+condition.Message)
	}
	if s.OperationState != nil {
		words = append(words, s.OperationState.Phase+": "+s.OperationState.Message)
		for _, r := range s.OperationState.SyncResult.Resources {
			words = append(words, fmt.Sprintf("%s %s/%s: %s %s%s: %s", r.Kind, r.Namespace, r.Name, r.Status, r.HookType, r.HookPhase, r.Message))
		}
	}
	return strings.Join(words, "\n")
}

const applications = "/apis/argoproj.io/v1alpha1/namespaces/" + Namespace + "/applications/"

// Application asks how one is.
func (a *ArgoCD) Application(ctx context.Context, name string) (*Application, error) {
	answer, err := a.options.Cluster.Do(ctx, cluster.Request{Method: http.MethodGet, Path: applications + name})
	if err != nil {
		return nil, err
	}
	if !answer.OK() {
		return nil, errors.New(answer.Message())
	}
	var object struct{ Status Application }
	if err := json.Unmarshal(answer.Body, &object); err != nil {
		return nil, fmt.Errorf("read the Application %s: %w", name, err)
	}
	return &object.Status, nil
}

// Refresh has Argo CD look at the repository now, as its button does. What it had
// rendered before is rendered again.
func (a *ArgoCD) Refresh(ctx context.Context, name string) error {
	return a.patch(ctx, applications+name, `{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"hard"}}}`)
}

// Delete takes an Application away, and leaves what it applied.
func (a *ArgoCD) Delete(ctx context.Context, name string) error {
	answer, err := a.options.Cluster.Do(ctx, cluster.Request{Method: http.MethodDelete, Path: applications + name})
	if err == nil && !answer.OK() && answer.Code != http.StatusNotFound {
		err = errors.New(answer.Message())
	}
	return err
}

// Configure sets some of Argo CD's settings, those of argocd-cm.
func (a *ArgoCD) Configure(ctx context.Context, settings map[string]string) error {
	patch, err := json.Marshal(map[string]any{"data": settings})
	if err != nil {
		return err
	}
	return a.patch(ctx, "/api/v1/namespaces/"+Namespace+"/configmaps/argocd-cm", string(patch))
}

func (a *ArgoCD) patch(ctx context.Context, path, patch string) error {
	answer, err := a.options.Cluster.Do(ctx, cluster.Request{
		Method: http.MethodPatch, Path: path, ContentType: "application/merge-patch+json", Body: []byte(patch),
	})
	if err == nil && !answer.OK() {
		err = errors.New(answer.Message())
	}
	return err
}
