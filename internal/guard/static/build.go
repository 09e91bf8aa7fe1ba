package static

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"path"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Options are the settings of the files.
type Options struct {
	Sources fs.FS  // the folder policies/
	URL     string // of the guard: https, host and port
	Bundle  []byte // certificates in PEM that certify the guard
	// Folder is where the files lie on the control plane.
	Folder string
	// Writers and WriterGroups may write exceptions, which the guard then judges; none: no policy about
	// writers.
	Writers, WriterGroups []string
	// DenyExec closes the ways through the API into the Pods of kube-system and to the kubelets.
	DenyExec bool
}

// Header begins each written file.
const Header = "# Written by polex-guard static. Do not edit: write it again, and compare.\n"

// Local reports whether the guard is on the control plane itself, and not in the cluster.
func (o Options) Local() bool {
	address, err := url.Parse(o.URL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(address.Hostname())
	return address.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Build returns the files by their paths in the folder.
func Build(o Options) (map[string][]byte, error) {
	webhooks, err := o.webhook()
	if err != nil {
		return nil, err
	}
	policies, err := o.policies()
	if err != nil {
		return nil, err
	}
	config, err := render(o.config())
	return map[string][]byte{
		path.Join(WebhookFolder, "polex.yaml"): webhooks,
		path.Join(PolicyFolder, "polex.yaml"):  policies,
		"admission.yaml":                       config,
	}, err
}

// config returns the AdmissionConfiguration.
func (o Options) config() map[string]any {
	plugin := func(name, kind, folder string) map[string]any {
		return map[string]any{"name": name, "configuration": map[string]any{
			"apiVersion": "apiserver.config.k8s.io/v1", "kind": kind, "staticManifestsDir": path.Join(o.Folder, folder),
		}}
	}
	return map[string]any{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": []any{
		plugin(WebhookPlugin, "WebhookAdmissionConfiguration", WebhookFolder),
		plugin(PolicyPlugin, "ValidatingAdmissionPolicyConfiguration", PolicyFolder),
	}}
}

// webhook returns the webhook of guard/base, which the API server reaches by URL.
func (o Options) webhook() ([]byte, error) {
	found, err := decode[admissionregistrationv1.ValidatingWebhookConfiguration](o.Sources, "guard/base/webhook.yaml", "ValidatingWebhookConfiguration")
	if err != nil {
		return nil, err
	}
	config := found[0]
	config.Name += Suffix
	for i := range config.Webhooks {
		client := &config.Webhooks[i].ClientConfig
		*client = admissionregistrationv1.WebhookClientConfig{URL: new(o.URL + *client.Service.Path), CABundle: o.Bundle}
	}
	return render(config)
}

// policies returns the policies that hold without a user or a group, with their bindings.
func (o Options) policies() ([]byte, error) {
	files := []string{"admission.yaml", "cluster.yaml", "definitions.yaml"}
	if o.Local() {
		files = append(files, "namespace.yaml")
	}
	if o.DenyExec {
		files = append(files, "exec.yaml")
	}
	var objects []any
	for _, file := range files {
		policy, binding, err := o.policy(file)
		if err != nil {
			return nil, fmt.Errorf("guard/static/%s: %w", file, err)
		}
		objects = append(objects, policy, binding)
	}
	if len(o.Writers)+len(o.WriterGroups) > 0 {
		policy, binding, err := pair(o.Sources, "rbac/base/writers.yaml", "")
		if err != nil {
			return nil, err
		}
		if err := errors.Join(set(policy, "users", append([]string{}, o.Writers...)), set(policy, "groups", append([]string{}, o.WriterGroups...))); err != nil {
			return nil, err
		}
		objects = append(objects, policy, binding)
	}
	for _, object := range objects {
		switch object := object.(type) {
		case *admissionregistrationv1.ValidatingAdmissionPolicy:
			object.Name += Suffix
		case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
			object.Name += Suffix
			object.Spec.PolicyName += Suffix
		}
	}
	return render(objects...)
}

// policy returns a policy of guard/static. If guard/protect has the same policy, the constraints, the
// conditions and the binding are those of protect, so that both match the same requests.
func (o Options) policy(file string) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding, error) {
	found, err := decode[admissionregistrationv1.ValidatingAdmissionPolicy](o.Sources, "guard/static/"+file, "ValidatingAdmissionPolicy")
	if err != nil {
		return nil, nil, err
	}
	from := found[0]
	if from.Spec.MatchConstraints != nil {
		return pair(o.Sources, "guard/static/"+file, from.Name)
	}
	policy, binding, err := pair(o.Sources, "guard/protect/"+file, from.Name)
	if err != nil {
		return nil, nil, err
	}
	policy.Spec.MatchConditions = append(policy.Spec.MatchConditions, from.Spec.MatchConditions...)
	policy.Spec.Variables, policy.Spec.Validations = from.Spec.Variables, from.Spec.Validations
	rules, err := o.rights(policy.Name)
	if err == nil && rules != nil {
		err = set(policy, "rules", rules)
	}
	return policy, binding, err
}

// rights returns the rules of the role that a policy protects, or nil.
func (o Options) rights(policy string) (any, error) {
	switch policy {
	case "polex-guard-cluster":
		roles, err := decode[rbacv1.ClusterRole](o.Sources, "guard/base/rbac.yaml", "ClusterRole")
		if err != nil {
			return nil, err
		}
		return roles[0].Rules, nil
	case "polex-guard-namespace":
		roles, err := decode[rbacv1.Role](o.Sources, "guard/base/rbac.yaml", "Role")
		if err != nil {
			return nil, err
		}
		return roles[slices.IndexFunc(roles, func(r rbacv1.Role) bool { return r.Namespace == "polex-system" })].Rules, nil
	}
	return nil, nil
}

// set writes a list as the expression of a variable: JSON without numbers is CEL.
func set(p *admissionregistrationv1.ValidatingAdmissionPolicy, variable string, list any) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(p.Spec.Variables, func(v admissionregistrationv1.Variable) bool { return v.Name == variable })
	if i < 0 {
		return fmt.Errorf("%s has no variable %q", p.Name, variable)
	}
	p.Spec.Variables[i].Expression = string(text)
	return nil
}

// pair returns a policy of a file, the first one without a name, and its binding.
func pair(from fs.FS, file, name string) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding, error) {
	policies, err := decode[admissionregistrationv1.ValidatingAdmissionPolicy](from, file, "ValidatingAdmissionPolicy")
	if err != nil {
		return nil, nil, err
	}
	bindings, err := decode[admissionregistrationv1.ValidatingAdmissionPolicyBinding](from, file, "ValidatingAdmissionPolicyBinding")
	if err != nil {
		return nil, nil, err
	}
	for i := range policies {
		for j := range bindings {
			if (name == "" || policies[i].Name == name) && bindings[j].Spec.PolicyName == policies[i].Name {
				return &policies[i], &bindings[j], nil
			}
		}
	}
	return nil, nil, fmt.Errorf("%s has no policy %q with a binding", file, name)
}

// decode returns the objects of one kind in a file; at least one.
func decode[T any](from fs.FS, file, kind string) ([]T, error) {
	text, err := fs.ReadFile(from, file)
	if err != nil {
		return nil, err
	}
	var found []T
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var meta metav1.TypeMeta
		if err == nil {
			err = yaml.Unmarshal(document, &meta)
		}
		if err == nil && meta.Kind == kind {
			_, err = strictly(&found, document)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no %s", file, kind)
	}
	return found, nil
}

// render writes objects as a file.
func render(objects ...any) ([]byte, error) {
	b := bytes.NewBufferString(Header)
	for i, object := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}
