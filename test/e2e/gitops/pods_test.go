//go:build e2e

package gitops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/must"
)

// pod has the fields that a kubelet reads.
type pod struct {
	Metadata struct {
		Name, Namespace, UID string
		DeletionTimestamp    string
	}
	Spec struct {
		InitContainers, Containers []container
		Volumes                    []struct {
			Name      string
			ConfigMap *struct{ Name string }
		}
	}
	Status struct{ Phase string }
}

type container struct {
	Name, TerminationMessagePolicy string
	Command, Args                  []string
	Env                            []struct{ Name, Value string }
	VolumeMounts                   []struct{ Name, MountPath, SubPath string }
}

// kubelet runs the containers of Pods as processes of this machine, since nothing here runs
// containers. Programs and arguments are the same, and volumes are folders.
type kubelet struct {
	namespace string
	played    []string // uids of the Pods that have run
}

// play waits for a Pod, runs it, and writes its status. It returns the arguments and the output of
// its last container.
func (k *kubelet) play(t *testing.T) (args []string, said string) {
	t.Helper()
	var next pod
	until(t, "a Pod in "+k.namespace, func(ctx context.Context) error {
		var list struct{ Items []pod }
		pods := cluster.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/" + k.namespace + "/pods"}
		if err := cluster.Into(&list)(live.Do(ctx, pods)); err != nil {
			return err
		}
		for _, p := range list.Items {
			if p.Metadata.DeletionTimestamp == "" && !slices.Contains(k.played, p.Metadata.UID) {
				next = p
				return nil
			}
		}
		return errors.New("there is none that has not run")
	})
	k.played = append(k.played, next.Metadata.UID)
	volumes := next.volumes(t)
	phase := "Succeeded"
	var statuses []any
	for _, c := range slices.Concat(next.Spec.InitContainers, next.Spec.Containers) {
		args = c.line()
		out, code := c.run(t, volumes)
		said += out
		if c.TerminationMessagePolicy != "FallbackToLogsOnError" || code == 0 {
			out = ""
		}
		statuses = append(statuses, map[string]any{"name": c.Name, "image": "none", "imageID": "none", "ready": false, "restartCount": 0,
			"state": map[string]any{"terminated": map[string]any{"exitCode": code, "message": out}}})
		if code != 0 {
			phase = "Failed"
			break
		}
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"phase": phase,
		"initContainerStatuses": statuses[:min(len(statuses), len(next.Spec.InitContainers))], "containerStatuses": statuses[min(len(statuses), len(next.Spec.InitContainers)):]}})
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, cluster.OK(live.Merge(t.Context(),
		"/api/v1/namespaces/"+k.namespace+"/pods/"+next.Metadata.Name+"/status", body)))
	return args, said
}

// volumes returns folders by the volume's name: empty ones, and the files of ConfigMaps.
func (p pod) volumes(t *testing.T) map[string]string {
	t.Helper()
	folders := map[string]string{}
	for _, v := range p.Spec.Volumes {
		folders[v.Name] = t.TempDir()
		if v.ConfigMap == nil {
			continue
		}
		var found struct{ Data map[string]string }
		path := "/api/v1/namespaces/" + p.Metadata.Namespace + "/configmaps/" + v.ConfigMap.Name
		must.Do(t, cluster.Into(&found)(live.Get(t.Context(), path)))
		for name, text := range found.Data {
			must.Do(t, os.WriteFile(filepath.Join(folders[v.Name], name), []byte(text), 0o600))
		}
	}
	return folders
}

// line returns the command line.
func (c container) line() []string { return slices.Concat(c.Command, c.Args) }

// run runs a container's command, with the folders in place of its mounts' paths.
func (c container) run(t *testing.T, volumes map[string]string) (said string, code int) {
	t.Helper()
	in := func(text string) string {
		for _, m := range c.VolumeMounts {
			if text == m.MountPath {
				return volumes[m.Name]
			}
			text = strings.ReplaceAll(text, m.MountPath+"/", volumes[m.Name]+"/")
		}
		return text
	}
	command := c.line()
	for i := range command {
		command[i] = in(command[i])
	}
	program := filepath.Join(folder, filepath.Base(command[0]))
	if _, err := os.Stat(program); err != nil {
		program = must.Get(exec.LookPath(command[0]))(t)
	}
	cmd := exec.CommandContext(t.Context(), program, command[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+in(e.Value))
	}
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s: %s", c.Name, out.String()), cmd.ProcessState.ExitCode()
}
