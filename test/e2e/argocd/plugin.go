package argocd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// Plugin is a config management plugin.
type Plugin struct {
	Name   string // as in its configuration
	Config []byte // plugin.yaml
}

// StartPlugin runs the plugin's server, and waits until the repository server can reach it.
func (a *ArgoCD) StartPlugin(ctx context.Context, p Plugin) error {
	within, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	folder := a.at("plugin-" + p.Name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "plugin.yaml"), p.Config, 0o600); err != nil {
		return err
	}
	if err := a.Run(ctx, servers.Command{Program: pluginServer, Env: a.env(), Args: []string{
		"--config-dir-path", folder,
	}}); err != nil {
		return err
	}
	socket := filepath.Join(a.at("plugins"), p.Name+".sock")
	return a.Until(within, "the plugin", func(context.Context) error {
		if _, err := os.Stat(socket); err != nil {
			return fmt.Errorf("the plugin is called otherwise, or not ready: %w", err)
		}
		return nil
	})
}
