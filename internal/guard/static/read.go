package static

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Suffix ends the name of every static object. The API server does not allow it in the API.
const Suffix = ".static.k8s.io"

// The admission plugins that read files, and their folders. Each accepts only its own kinds.
const (
	WebhookPlugin = "ValidatingAdmissionWebhook"
	PolicyPlugin  = "ValidatingAdmissionPolicy"

	WebhookFolder = "webhooks"
	PolicyFolder  = "policies"
)

// maxFile is the maximum number of bytes of a file. An object in the API is smaller.
const maxFile = 4 << 20

// Manifests are the files of one plugin, by name.
type Manifests map[string][]byte

// Read reads the files of a folder that an API server reads: those with the endings of YAML and JSON,
// and no folders below it.
func Read(dir string) (Manifests, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	m := Manifests{}
	for _, entry := range entries {
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(entry.Name()))) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		switch info, err := os.Stat(path); {
		case err != nil:
			return nil, fmt.Errorf("read a file of the folder: %v", err) //nolint:errorlint // the folder itself exists
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a regular file; the API server would refuse or wait for it", path)
		case info.Size() > maxFile:
			return nil, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
		}
		if m[entry.Name()], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Hash returns the hash of the files that an API server states in
// apiserver_manifest_admission_config_controller_last_config_info, and "" without content
// (k8s.io/apiserver/pkg/admission/plugin/manifest.LoadFiles).
func (m Manifests) Hash() string {
	h, some := sha256.New(), false
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if len(m[name]) > 0 {
			some = true
			h.Write(m[name])
			h.Write([]byte{0})
		}
	}
	if !some {
		return ""
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// Set is the content of both folders.
type Set struct {
	Webhooks []admissionregistrationv1.ValidatingWebhookConfiguration
	Policies []admissionregistrationv1.ValidatingAdmissionPolicy
	Bindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding
	Hashes   map[string]string // by plugin
}

// ReadSet reads and checks the folder that Build fills.
func ReadSet(dir string) (*Set, error) {
	webhooks, err := Read(filepath.Join(dir, WebhookFolder))
	if err != nil {
		return nil, err
	}
	policies, err := Read(filepath.Join(dir, PolicyFolder))
	if err != nil {
		return nil, err
	}
	return Parse(webhooks, policies)
}

// Parse reads the files as strictly as an API server, and checks its rules for static objects. It leaves
// the rules for all objects to the API server, such as the compilation of expressions. It reads no List.
func Parse(webhooks, policies Manifests) (*Set, error) {
	s := &Set{Hashes: map[string]string{WebhookPlugin: webhooks.Hash(), PolicyPlugin: policies.Hash()}}
	if err := webhooks.each(WebhookFolder, func(meta metav1.TypeMeta, text []byte) (string, error) {
		if meta.Kind != "ValidatingWebhookConfiguration" {
			return "", unknownKind(meta.Kind, "ValidatingWebhookConfiguration")
		}
		c, err := strictly(&s.Webhooks, text)
		if err != nil {
			return "", err
		}
		for _, w := range c.Webhooks {
			if w.ClientConfig.Service != nil || w.ClientConfig.URL == nil || *w.ClientConfig.URL == "" {
				return "", fmt.Errorf("webhook %q names a Service or no url; the API server reaches a static webhook by clientConfig.url only", w.Name)
			}
		}
		return c.Name, nil
	}); err != nil {
		return nil, err
	}
	if err := policies.each(PolicyFolder, func(meta metav1.TypeMeta, text []byte) (string, error) {
		switch meta.Kind {
		case "ValidatingAdmissionPolicy":
			p, err := strictly(&s.Policies, text)
			if err == nil && p.Spec.ParamKind != nil {
				err = errors.New("spec.paramKind is not allowed in a static policy")
			}
			return p.Name, err
		case "ValidatingAdmissionPolicyBinding":
			b, err := strictly(&s.Bindings, text)
			if err == nil && b.Spec.ParamRef != nil {
				err = errors.New("spec.paramRef is not allowed in a static binding")
			}
			return b.Name, err
		}
		return "", unknownKind(meta.Kind, "ValidatingAdmissionPolicy or ValidatingAdmissionPolicyBinding")
	}); err != nil {
		return nil, err
	}
	for _, b := range s.Bindings {
		if !slices.ContainsFunc(s.Policies, func(p admissionregistrationv1.ValidatingAdmissionPolicy) bool { return p.Name == b.Spec.PolicyName }) {
			return nil, fmt.Errorf("%s: the binding %s names the policy %q, which is not in this folder", PolicyFolder, b.Name, b.Spec.PolicyName)
		}
	}
	return s, nil
}

func unknownKind(found, want string) error {
	return fmt.Errorf("kind %q is not allowed in this folder, expected %s; each plugin reads a folder of its own", found, want)
}

// strictly decodes an object and appends it to a list.
func strictly[T any](list *[]T, text []byte) (*T, error) {
	var object T
	err := yaml.UnmarshalStrict(text, &object)
	*list = append(*list, object)
	return &object, err
}

// each reads the documents of the files in the order of an API server, and checks their names.
func (m Manifests) each(folder string, read func(metav1.TypeMeta, []byte) (name string, err error)) error {
	seen := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(m)) {
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(m[file])))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil && len(bytes.TrimSpace(document)) == 0 {
				continue
			}
			var meta metav1.TypeMeta
			if err == nil && bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")) && !json.Valid(document) {
				err = errors.New("it begins with { and is not JSON; the API server reads such a document as JSON only")
			}
			if err == nil {
				err = yaml.Unmarshal(document, &meta)
			}
			name := ""
			switch {
			case err != nil:
			case meta.APIVersion != admissionregistrationv1.SchemeGroupVersion.String():
				err = fmt.Errorf("apiVersion %q is not allowed, expected %s", meta.APIVersion, admissionregistrationv1.SchemeGroupVersion)
			default:
				name, err = read(meta, document)
			}
			switch key := meta.Kind + "/" + name; {
			case err != nil:
			case !strings.HasSuffix(name, Suffix):
				err = fmt.Errorf("name %q does not end with %s", name, Suffix)
			case seen[key]:
				err = fmt.Errorf("a second %s has the name %q", meta.Kind, name)
			default:
				seen[key] = true
			}
			if err != nil {
				return fmt.Errorf("%s/%s: %w", folder, file, err)
			}
		}
	}
	return nil
}
