package static

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
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
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"},
			strings.ToLower(filepath.Ext(entry.Name()))) {
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
	Webhooks []admission.ValidatingWebhookConfiguration
	Policies []admission.ValidatingAdmissionPolicy
	Bindings []admission.ValidatingAdmissionPolicyBinding
	Hashes   map[string]string // by plugin
}

// ReadSet reads both folders. An API server that states the same hashes has accepted the files, so
// ReadSet does not repeat its other checks.
func ReadSet(dir string) (*Set, error) {
	s := &Set{Hashes: map[string]string{}}
	for plugin, folder := range map[string]string{WebhookPlugin: WebhookFolder, PolicyPlugin: PolicyFolder} {
		files, err := Read(filepath.Join(dir, folder))
		if err != nil {
			return nil, err
		}
		s.Hashes[plugin] = files.Hash()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := s.add(files[name]); err != nil {
				return nil, fmt.Errorf("%s/%s: %w", folder, name, err)
			}
		}
	}
	return s, nil
}

// decoder reads objects strictly.
var decoder = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// add adds the objects of a file.
func (s *Set) add(text []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(bytes.TrimSpace(document)) == 0:
			continue
		}
		object, kind, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return err
		}
		switch o := object.(type) {
		case *admission.ValidatingWebhookConfiguration:
			s.Webhooks = append(s.Webhooks, *o)
		case *admission.ValidatingAdmissionPolicy:
			s.Policies = append(s.Policies, *o)
		case *admission.ValidatingAdmissionPolicyBinding:
			s.Bindings = append(s.Bindings, *o)
		default:
			return fmt.Errorf("apiVersion %q with kind %q is not allowed", kind.GroupVersion(), kind.Kind)
		}
	}
}
