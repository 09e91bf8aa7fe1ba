package story

import (
	"io"
	"os"
	"path/filepath"
	"text/template"

	"github.com/polex-dev/polex/test/e2e/servers"
)

// guide explains the addresses of the running services, with commands to try. Lines with an
// indentation of four spaces are commands, for execution in order. Behind "# refused: " is the
// error of a command that fails.
var guide = template.Must(template.New("guide").Parse(`
Everything runs, on this machine only, until you press Ctrl-C.

  kubeconfig    {{.Kubeconfig}}
  Git           {{.GitURL}}
  Fulcio        {{.FulcioURL}}
  Rekor         {{.RekorURL}}
  trusted root  {{.TrustedRoot}}
  trust policy  {{.TrustPolicy}} (of the guard: change it, and it counts)
  Argo CD       kubectl -n argocd get application {{.Application}} -o yaml
  logs          {{.Dir}}

In another terminal, in an empty folder:

    export KUBECONFIG={{.Kubeconfig}} PATH={{.Commands}}:{{.Binaries}}:$PATH

A Pod that breaks a policy stays out:

    kubectl apply -f {{.Try}}/pod.yaml # refused: no Pod shares the memory of the host

Propose an exception for it, in a branch:

    git clone --quiet {{.GitURL}} exceptions
    cd exceptions
    git switch --quiet -c ask
    cp {{.Try}}/exception.yaml unsigned/web.yaml
    polex-validate unsigned/
    git add unsigned
    git commit --quiet -m "Ask for it"

As it is, the cluster does not take it:

    kubectl apply -f unsigned/web.yaml # refused: [unsigned]

Merge it. The merge workflow signs it, and Argo CD applies it:

    git switch --quiet main
    git merge --quiet --no-ff -m "Merge a pull request" ask
    git push --quiet
    kubectl wait --for=create --timeout=5m -n {{.Namespace}} policyexceptions.kyverno.io/web
    git pull --quiet
    polex-verify --config {{.TrustPolicy}} signed/

Change what was signed, and it is refused:

    sed 's/\[ipc\]/["*"]/; s/^  name: web$/  name: wide/' signed/web.yaml | kubectl apply -f - # refused: [altered]

And the Pod is let in, and no other:

    kubectl apply -f {{.Try}}/pod.yaml
    sed 's/name: web/name: other/' {{.Try}}/pod.yaml | kubectl apply -f - # refused: no Pod shares the memory of the host

Sign it as the workflow of another branch, and it is refused:

    cd ..
    echo 'ref: refs/heads/dev' >dev.claims
    polex-sign --fulcio-url {{.FulcioURL}} --rekor-url {{.RekorURL}} --trusted-root {{.TrustedRoot}} --identity-token "$(polex-sandbox token --dir {{.Dir}}/sandbox --claims dev.claims)" {{.Try}}/exception.yaml --output-file dev.yaml
    kubectl apply -f dev.yaml # refused: [wrong-identity]

{{.Last}}
`))

// Last is the last line of the explanation.
const Last = "What the merge workflow does is said here."

// Explain prints the addresses of the services and commands to try.
func (w *World) Explain(out io.Writer) error {
	try := w.at("try")
	if err := os.Mkdir(try, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"pod.yaml": Kinds[0].Pod("web", First), "exception.yaml": Kinds[0].Exception(Ask{Name: "web"})} {
		if err := os.WriteFile(w.at("try/"+name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return guide.Execute(out, map[string]string{
		"Kubeconfig": w.Cluster.Kubeconfig(), "GitURL": w.GitURL, "FulcioURL": w.Sigstore.FulcioURL, "RekorURL": w.Sigstore.RekorURL,
		"TrustedRoot": w.Sigstore.TrustedRootPath, "TrustPolicy": w.TrustPolicy, "Application": Application, "Dir": w.Dir,
		"Commands": w.runner.Commands, "Binaries": filepath.Dir(servers.Kubernetes(w.binaries(), "kubectl")), "Namespace": Namespace, "Try": try, "Last": Last,
	})
}
