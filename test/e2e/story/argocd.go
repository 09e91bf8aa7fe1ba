package story

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
)

// Application is the name of the one in examples/argocd, which applies signed/ of main.
const Application = "exceptions"

// startArgoCD runs Argo CD with the Application of the example.
func (w *World) startArgoCD(ctx context.Context) error {
	var err error
	if w.ArgoCD, err = argocd.Start(ctx, argocd.Options{Binaries: w.binaries(), Tools: w.tools("argocd"), Dir: w.at("argocd"), Cluster: w.Cluster}); err != nil {
		return err
	}
	w.ends = append(w.ends, w.ArgoCD.Close)
	documents, err := w.example()
	if err != nil {
		return err
	}
	if err := w.Cluster.ApplyAll(ctx, []byte(strings.Join(documents, "---\n"))); err != nil {
		return err
	}
	return w.until(ctx, "the Application", func(ctx context.Context) error {
		said, err := w.ArgoCD.Application(ctx, Application)
		if err == nil && said.Sync.Status != "Synced" {
			err = errors.New(said.Said())
		}
		return err
	})
}

// example returns the project and the Application, with all placeholders replaced.
func (w *World) example() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(w.Root, "examples", "argocd", "application.yaml"))
	if err != nil {
		return nil, err
	}
	filled := strings.ReplaceAll(string(text), "https://github.com/acme/exceptions", w.GitURL)
	documents, err := cluster.Documents([]byte(filled))
	if err == nil && len(documents) != 2 {
		err = fmt.Errorf("the example has %d documents, and not a project and an Application", len(documents))
	}
	if err != nil {
		return nil, err
	}
	return []string{string(documents[0]), string(documents[1])}, nil
}

// Follow makes Argo CD apply a branch, with an Application of that name.
func (w *World) Follow(ctx context.Context, branch string) error {
	documents, err := w.example()
	if err != nil {
		return err
	}
	named := strings.NewReplacer("\n  name: "+Application+"\n", "\n  name: "+branch+"\n", "targetRevision: main", "targetRevision: "+branch).Replace(documents[1])
	return w.Cluster.ApplyAll(ctx, []byte(named))
}

// Applied waits until expected returns no error for an Application.
func (w *World) Applied(ctx context.Context, name string, expected func(*argocd.Application) error) error {
	if err := w.ArgoCD.Refresh(ctx, name); err != nil {
		return err
	}
	return w.until(ctx, "Argo CD about "+name, func(ctx context.Context) error {
		said, err := w.ArgoCD.Application(ctx, name)
		if err != nil {
			return err
		}
		if err := expected(said); err != nil {
			return fmt.Errorf("%w: %s", err, said.Said())
		}
		return nil
	})
}
