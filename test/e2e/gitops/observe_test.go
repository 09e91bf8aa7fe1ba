//go:build e2e

package gitops

import (
	"context"
	"errors"
	"fmt"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/internal/sandbox"
	"github.com/polex-dev/polex/test/e2e/argocd"
	"github.com/polex-dev/polex/test/e2e/cluster"
	"github.com/polex-dev/polex/test/e2e/fixture"
	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// until repeats a check until it succeeds, while the servers run, for waitLimit at most.
func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	fixture.Until(t, argo, waitLimit, what, ask)
}

// watched waits until the Application is in the wanted state, and returns it.
func watched(t *testing.T, what string, want func(*argocd.Application) bool) *argocd.Application {
	t.Helper()
	var last *argocd.Application
	until(t, what, func(ctx context.Context) error {
		found, err := argo.Application(ctx, "exceptions")
		if err != nil {
			return err
		}
		last = found
		if !want(found) {
			return fmt.Errorf("it is %s at %s: %s", found.Sync.Status, found.Sync.Revision, found.Said())
		}
		return nil
	})
	return last
}

// synced waits until the Application has applied a commit.
func synced(t *testing.T, commit string) *argocd.Application {
	t.Helper()
	return watched(t, "the sync of "+commit, func(a *argocd.Application) bool {
		return a.Sync.Status == "Synced" && a.Sync.Revision == commit && a.OperationState != nil &&
			a.OperationState.Phase == "Succeeded" && a.OperationState.SyncResult.Revision == commit
	})
}

// refresh makes the Application read the repository.
func refresh(t *testing.T) {
	t.Helper()
	must.Do(t, argo.Refresh(t.Context(), "exceptions"))
}

// stored returns the names of the exceptions in the cluster, sorted.
func stored(ctx context.Context) ([]string, error) {
	names := []string{}
	for _, target := range []cluster.Target{exceptions, native} {
		var list struct {
			Items []struct{ Metadata struct{ Name string } }
		}
		if err := cluster.Into(&list)(live.Get(ctx, target.Path(""))); err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			names = append(names, item.Metadata.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// holds fails unless the cluster has exactly these exceptions.
func holds(t *testing.T, want ...string) {
	t.Helper()
	have := must.Get(stored(t.Context()))(t)
	slices.Sort(want)
	diff := cmp.Diff(append([]string{}, want...), have)
	must.That(t, diff == "", "the exceptions in the cluster (-want +got):\n%s", diff)
}

// TestFluxVerifiesCommits: Flux fetches the commits that promotion signs with SSH or OpenPGP, as the
// README of examples/flux sets it up. It stays at the last one when somebody pushes another commit.
func TestFluxVerifiesCommits(t *testing.T) {
	f := startFlux(t, true)
	guarded(t)
	for _, form := range []string{"ssh", "openpgp"} {
		t.Run(form, func(t *testing.T) {
			r := newRepository(t, "verified-"+form, map[string]string{"unsigned/first.yaml": draft("first")})
			clone := filepath.Join(t.TempDir(), "clone")
			run := runner(t)
			run("", "git", "clone", "--quiet", remote.Path(r.name), clone)
			kubectl := func(args ...string) {
				run("", fixture.Kubectl(), append(args, "--kubeconfig", live.Kubeconfig(), "--namespace", where)...)
			}
			kubectl("create", "secret", "generic", "exceptions-signers", "--from-file", signingKey(t, run, form, clone))
			t.Cleanup(func() { kubectl("delete", "secret", "exceptions-signers") })
			apply(t, verifying(t, r))
			t.Cleanup(func() { withdraw(t, f) })
			promote := func() string {
				text, err := box.Token(sandbox.Identity{}, "sigstore")
				token := filepath.Join(t.TempDir(), "token")
				must.Do(t, errors.Join(err, os.WriteFile(token, []byte(text), 0o600)))
				for setting, value := range map[string]string{"user.name": "Workflow", "user.email": "workflow@example.com", "commit.gpgSign": "true"} {
					run(clone, "git", "config", setting, value)
				}
				run(clone, filepath.Join(folder, "polex-sign"), "--config", box.ConfigPath, "--identity-token", token, "promote", "--push")
				run(clone, "git", "verify-commit", "HEAD")
				return run(clone, "git", "rev-parse", "HEAD")
			}

			signed := promote()
			until(t, "the exception of commit "+signed, func(ctx context.Context) error { return storedAre(ctx, "first") })

			other := r.commit(t, map[string]string{"signed/first.yaml": "", "unsigned/second.yaml": draft("second")})
			until(t, "the rejection of commit "+other, func(ctx context.Context) error {
				source, err := f.GitRepository(ctx, where, "exceptions")
				if err != nil {
					return err
				}
				status, message := source.Condition("SourceVerified")
				return expect.Unless(status == "False" && strings.Contains(message, other),
					"SourceVerified is %q: %s", status, message)
			})
			holds(t, "first")

			run(clone, "git", "pull", "--quiet", "--ff-only")
			signed = promote()
			until(t, "the exception of commit "+signed, func(ctx context.Context) error { return storedAre(ctx, "second") })
		})
	}
}

// verifying is the example for a repository, served by http, with the lines that its README adds for verified commits.
func verifying(t *testing.T, r repository) string {
	t.Helper()
	backend := must.Get(exec.Command("git", "--exec-path").Output())(t)
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + filepath.Dir(remote.Path(r.name)), "GIT_HTTP_EXPORT_ALL=1"},
	})
	t.Cleanup(server.Close)
	r.url = server.URL + "/" + filepath.Base(remote.Path(r.name))
	page := must.Get(os.ReadFile(filepath.Join(fixture.FromRoot("examples"), "flux", "README.md")))(t)
	lines := regexp.MustCompile("(?s)```yaml\n(  verify:\n.*?)```").FindSubmatch(page)
	must.That(t, lines != nil, "the README has no lines for verified commits")
	return strings.Replace(example(t, "flux/exceptions.yaml", r), "  interval: 1m\n", "  interval: 2s\n"+string(lines[1]), 1)
}

// runner returns a function that runs a program in a folder with git settings of its own, and returns its output.
func runner(t *testing.T) func(dir, program string, args ...string) string {
	t.Helper()
	home := t.TempDir()
	return func(dir, program string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...) // also in a cleanup
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "GNUPGHOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GITHUB_ACTIONS=")
		return strings.TrimSpace(must.Run(t, cmd))
	}
}

// signingKey makes a key and lets git in a clone sign with it. It returns the file of the public key,
// with the ending that Flux expects.
func signingKey(t *testing.T, run func(dir, program string, args ...string) string, form, clone string) (file string) {
	t.Helper()
	const signer = "workflow@example.com"
	set := func(name, value string) { run(clone, "git", "config", name, value) }
	key := filepath.Join(t.TempDir(), "polex")
	if form == "openpgp" {
		run("", "gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", signer, "ed25519", "sign")
		set("user.signingKey", signer)
		run("", "gpg", "--armor", "--output", key+".asc", "--export", signer)
		return key + ".asc"
	}
	run("", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", signer, "-f", key)
	must.Do(t, os.Rename(key+".pub", key+".sshpub"))
	run("", "sh", "-c", `echo "$1 $(cat "$2.sshpub")" >"$2.allowed"`, "sh", signer, key)
	set("gpg.format", "ssh")
	set("user.signingKey", key)
	set("gpg.ssh.allowedSignersFile", key+".allowed")
	return key + ".sshpub"
}
