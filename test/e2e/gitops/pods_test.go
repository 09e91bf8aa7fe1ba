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

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
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

// play waits for a Pod, runs it, and writes its status. It returns the arguments and the output of its last container.
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
	must.Do(t, err)
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
	must.That(t, err == nil || errors.As(err, &exit), "%v", err)
	return fmt.Sprintf("%s: %s", c.Name, out.String()), cmd.ProcessState.ExitCode()
}

// placeholder is the repository in every file of the examples. Their READMEs tell the reader to replace it.
const placeholder = "https://github.com/acme/exceptions"

// example reads a file of the examples and replaces the repository's address, as its README says.
func example(t *testing.T, path string, r repository) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(fixture.FromRoot("examples"), filepath.FromSlash(path))))(t)
	if r.url == "" {
		return string(text)
	}
	replaced := strings.ReplaceAll(string(text), placeholder, r.url)
	must.That(t, replaced != string(text), "%s names no repository %s", path, placeholder)
	return replaced
}

// apply applies manifests.
func apply(t *testing.T, text string) {
	t.Helper()
	must.Do(t, live.ApplyAll(t.Context(), []byte(text)))
}

// deployed follows the first steps of the README of examples/argocd, and applies an Application
// from a file. At the end of the test it deletes both, with all exceptions.
func deployed(t *testing.T, path string, r repository) {
	t.Helper()
	apply(t, example(t, "argocd/rbac.yaml", repository{}))
	must.Do(t, argo.Configure(t.Context(), map[string]string{"application.sync.impersonation.enabled": "true"}))
	apply(t, example(t, path, r))
	t.Cleanup(func() { cleared(t) })
}

// cleared deletes the Application and all exceptions, and waits until they are gone.
func cleared(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	expect.NoError(t, argo.Delete(ctx, "exceptions"))
	err := argo.Until(ctx, "the Application to be gone", func(ctx context.Context) error {
		path := "/apis/argoproj.io/v1alpha1/namespaces/" + argocd.Namespace + "/applications/exceptions"
		return fixture.Exists(ctx, live, path, false)
	})
	expect.NoError(t, err)
	for _, target := range []cluster.Target{exceptions, native} {
		_, err := live.Delete(ctx, target.Path(""))
		expect.NoError(t, err)
	}
}

// TestImagesHaveToBeNamed: the images in the examples have a placeholder as digest, so no cluster runs them unchanged.
func TestImagesHaveToBeNamed(t *testing.T) {
	found := 0
	for _, path := range []string{"argocd/plugin/argocd-repo-server.yaml", "argocd/presync/verify.jsonnet"} {
		for line := range strings.Lines(example(t, path, repository{})) {
			if name, image, _ := strings.Cut(strings.TrimSpace(line), ": "); name == "image" {
				found++
				expect.That(t, strings.HasSuffix(strings.Trim(image, "',"), "@sha256:<digest>"),
					"%s names an image otherwise: %s", path, image)
			}
		}
	}
	expect.That(t, found == 3, "there are %d images", found)
}

// TestPreSync: the hook verifies the synced commit with the cluster's trust policy. If it rejects
// the commit, nothing of it is applied, even without a guard.
func TestPreSync(t *testing.T) {
	const namespace = "exceptions-presync"
	sealed := seal(t, draft("honest"), draft("later"))
	r := newRepository(t, "presync", nil)
	files := map[string]string{
		"signed/honest.yaml":     sealed[0],
		"presync/verify.jsonnet": example(t, "argocd/presync/verify.jsonnet", r),
		// The hook ignores the trust policy in the repository.
		".polex.yaml": "apiVersion: polex.dev/v1alpha1\nkind: Config\ntrust: {authorities: [{name: mine, issuer: " + box.IssuerURL + ", subject: " + sandbox.Identity{Repository: "acme/other"}.Subject() + "}]}\n",
	}
	commit := r.commit(t, files)
	apply(t, example(t, "argocd/presync/namespace.yaml", repository{}))
	apply(t, configMap(t, namespace, "polex-trust", map[string]string{"trust.yaml": trustPolicy(t), "trusted_root.json": trustedRoot(t)}))
	deployed(t, "argocd/presync/application.yaml", r)
	node := kubelet{namespace: namespace}

	args, said := node.play(t)
	must.That(t, slices.Contains(args, "--ref="+commit), "it is not the commit %s that was verified: %q", commit, args)
	expect.Contains(t, said, "signed/honest.yaml", "[verified]")
	synced(t, commit)
	holds(t, "honest")

	r.commit(t, map[string]string{"signed/later.yaml": sealed[1], "signed/unsigned.yaml": draft("unsigned"),
		"signed/elsewhere.yaml": sealing{by: sandbox.Identity{Repository: "acme/other"}}.seal(t, draft("elsewhere"))[0]})
	refresh(t)
	_, said = node.play(t)
	expect.Contains(t, said, "[unsigned]", "[wrong-identity]")
	found := watched(t, "the hook to fail", func(a *argocd.Application) bool { return failed(a) && a.OperationState.SyncResult.Revision != commit })
	expect.Contains(t, found.Said(), "Job "+namespace+"/polex-verify", "PreSyncFailed")
	holds(t, "honest")
}
