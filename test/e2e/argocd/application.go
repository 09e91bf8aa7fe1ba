package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Application is the status of an Application, as `kubectl get` shows it.
type Application struct {
	Sync struct {
		Status    string // Synced, OutOfSync, Unknown
		Revision  string
		Revisions []string // if it has several sources
	}
	Health struct{ Status string }
	// Conditions are the problems that prevent a comparison or a sync.
	Conditions     []struct{ Type, Message string }
	ReconciledAt   string
	OperationState *Operation // the last sync; nil before the first
}

// Operation is a sync with its result.
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

// Said returns all texts of the status. A user reads them to find the reason of a rejection.
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

// Application reads the status of an Application.
func (a *ArgoCD) Application(ctx context.Context, name string) (*Application, error) {
	answer, err := a.options.Cluster.Get(ctx, applications+name)
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

// Refresh makes Argo CD read the repository now, like its button, and render it again.
func (a *ArgoCD) Refresh(ctx context.Context, name string) error {
	return a.patch(ctx, applications+name, `{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"hard"}}}`)
}

// Delete deletes an Application, and keeps its applied objects.
func (a *ArgoCD) Delete(ctx context.Context, name string) error {
	answer, err := a.options.Cluster.Delete(ctx, applications+name)
	if err == nil && !answer.OK() && answer.Code != http.StatusNotFound {
		err = errors.New(answer.Message())
	}
	return err
}

// Configure changes settings of Argo CD, in argocd-cm.
func (a *ArgoCD) Configure(ctx context.Context, settings map[string]string) error {
	patch, err := json.Marshal(map[string]any{"data": settings})
	if err != nil {
		return err
	}
	return a.patch(ctx, "/api/v1/namespaces/"+Namespace+"/configmaps/argocd-cm", string(patch))
}

func (a *ArgoCD) patch(ctx context.Context, path, patch string) error {
	answer, err := a.options.Cluster.Merge(ctx, path, []byte(patch))
	if err == nil && !answer.OK() {
		err = errors.New(answer.Message())
	}
	return err
}
