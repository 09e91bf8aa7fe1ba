package doctor

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/polex-dev/polex/internal/guard/static"
)

// renewal is the minimum remaining lifetime of a CA in a static file: people replace it on every node.
const renewal = 60 * 24 * time.Hour

// static checks that each API server has loaded exactly the files of the folder.
func (k *checkup) static(ctx context.Context) {
	if k.Static == nil {
		return
	}
	servers := k.Servers
	if len(servers) == 0 {
		var err error
		if servers, err = k.endpoints(ctx); !k.known("API servers", err) {
			return
		}
	}
	for _, server := range servers {
		k.loaded(ctx, server)
	}
}

// endpoints returns the URLs of the API servers from the endpoints of the Service kubernetes, which
// the API servers write themselves.
func (k *checkup) endpoints(ctx context.Context) ([]string, error) {
	var list discoveryv1.EndpointSliceList
	of := client.MatchingLabels{discoveryv1.LabelServiceName: "kubernetes"}
	if err := k.Client.List(ctx, &list, client.InNamespace("default"), of); err != nil {
		return nil, fmt.Errorf("%w; name the API servers with --server", err)
	}
	var urls []string
	for _, slice := range list.Items {
		for _, port := range slice.Ports {
			for _, endpoint := range slice.Endpoints {
				for _, address := range endpoint.Addresses {
					if port.Port != nil {
						urls = append(urls, "https://"+net.JoinHostPort(address, strconv.Itoa(int(*port.Port))))
					}
				}
			}
		}
	}
	if len(urls) == 0 {
		return nil, errors.New("the Service kubernetes in default has no endpoints; name the API servers with --server")
	}
	slices.Sort(urls)
	return slices.Compact(urls), nil
}

// loaded checks one API server.
func (k *checkup) loaded(ctx context.Context, server string) {
	subject := "static files of " + server
	state, err := k.staticState(ctx, server)
	if !k.known(subject, err) {
		return
	}
	defer k.unlessFound(subject, "this API server has loaded exactly these files")()
	for _, plugin := range []string{static.WebhookPlugin, static.PolicyPlugin} {
		s := state[plugin]
		switch want := k.Static.Hashes[plugin]; {
		case s == nil || s.hash == nil:
			f := k.report(subject, "static-not-loaded", "the plugin %s reads no files", plugin)
			f.Hint = "start it with --admission-control-config-file=…/admission.yaml, and Kubernetes 1.36 with " +
				"--feature-gates=ManifestBasedAdmissionControlConfig=true"
		case *s.hash != want:
			k.report(subject, "static-not-loaded", "the plugin %s has loaded %s, expected %s",
				plugin, cmp.Or(*s.hash, "no file"), cmp.Or(want, "no file"))
		case s.failure > s.success:
			k.report(subject, "static-reload-failed",
				"the plugin %s could not load its folder at %s, and keeps the files that it loaded before",
				plugin, timestamp(time.Unix(int64(s.failure), 0)))
		}
	}
}

// staticPolicies checks the policies of the folder.
func (k *checkup) staticPolicies() {
	if k.Static == nil {
		return
	}
	defer k.unlessFound("static validatingadmissionpolicies", "they exist, are bound and fail closed")()
	present, bound := byName(k.Static.Policies, k.Static.Bindings)
	names := slices.AppendSeq([]string{"polex-admission" + static.Suffix, "polex-guard-cluster" + static.Suffix,
		"polex-guard-definitions" + static.Suffix}, maps.Keys(present))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if p := present[name]; p == nil || !bound[name] || !closes(p.Spec) {
			f := k.report("static validatingadmissionpolicies/"+name, "protection-hole",
				"no file in policies/ has it with a binding that denies everywhere, or it does not fail closed")
			f.Hint = "build the files from policies/guard/static"
		}
	}
}

// closes reports whether a policy rejects requests that it cannot evaluate, and validates some.
func closes(p admission.ValidatingAdmissionPolicySpec) bool {
	return (p.FailurePolicy == nil || *p.FailurePolicy == admission.Fail) && len(p.Validations) > 0
}

// loadedFiles is the state of the static files of a plugin.
type loadedFiles struct {
	hash             *string
	success, failure float64 // Unix time of the last reload
}

var (
	metric = regexp.MustCompile(`^apiserver_manifest_admission_config_controller_(\w+)\{([^}]*)\} (\S+)$`)
	label  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// staticState reads the metrics of an API server, by plugin.
func (k *checkup) staticState(ctx context.Context, server string) (map[string]*loadedFiles, error) {
	const maxMetrics = 256 << 20 // the maximum number of bytes of the metrics of an API server
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := k.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s/metrics: %s; it requires the right to get the path /metrics",
			server, answer.Status)
	}
	state := map[string]*loadedFiles{}
	lines := bufio.NewScanner(io.LimitReader(answer.Body, maxMetrics))
	for lines.Scan() {
		m := metric.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		of := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(m[2], -1) {
			of[pair[1]] = pair[2]
		}
		s := cmp.Or(state[of["plugin"]], &loadedFiles{})
		state[of["plugin"]] = s
		switch m[1] + " " + of["status"] {
		case "last_config_info ":
			s.hash = new(of["hash"])
		case "automatic_reload_last_timestamp_seconds success":
			s.success, err = strconv.ParseFloat(m[3], 64)
		case "automatic_reload_last_timestamp_seconds failure":
			s.failure, err = strconv.ParseFloat(m[3], 64)
		}
		if err != nil {
			return nil, fmt.Errorf("read the metrics of %s: %w", server, err)
		}
	}
	return state, lines.Err()
}
