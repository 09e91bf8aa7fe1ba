package seal

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/polex-dev/polex/pkg/exception"
)

// serverSet lists the fields of metadata that the API server writes. They count only there.
var serverSet = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"}

// Added lists further labels and annotations that an object may have, each with its one value. A
// key that is also in the message is compared like any other. The zero value allows none.
type Added struct{ Labels, Annotations map[string]string }

// Difference is one difference between an object and its signed message.
type Difference struct {
	Path      exception.Path
	InMessage bool
	InObject  bool
	Message   any // the signed value, if InMessage
	Object    any // the value in the object, if InObject
}

// Old describes the signed value in a few words.
func (d Difference) Old() string { return describe(d.Message, d.InMessage) }

// New describes the value in the object in a few words.
func (d Difference) New() string { return describe(d.Object, d.InObject) }

// AddedMetadata returns a label or annotation that is in the object and not in the message. The
// field is "labels" or "annotations", and "" for any other difference.
func (d Difference) AddedMetadata() (field, key, value string) {
	if d.InMessage || len(d.Path) != 3 || d.Path[0] != "metadata" {
		return "", "", ""
	}
	field, _ = d.Path[1].(string)
	key, _ = d.Path[2].(string)
	value, isText := d.Object.(string)
	if !isText || field != "labels" && field != "annotations" {
		return "", "", ""
	}
	return field, key, value
}

// String describes the difference; untrusted text is quoted.
func (d Difference) String() string {
	field, key, value := d.AddedMetadata()
	switch {
	case field == "labels" && exception.IsQualifiedName(key) && exception.IsLabelValue(value):
		return fmt.Sprintf("label %s=%s was added after signing", key, value)
	case field == "annotations" && exception.IsQualifiedName(key):
		return fmt.Sprintf("annotation %s=%s was added after signing", key, d.New())
	case !d.InMessage:
		return fmt.Sprintf("%s was added after signing (%s)", d.Path, d.New())
	case !d.InObject:
		return fmt.Sprintf("%s was removed (signed as %s)", d.Path, d.Old())
	case d.New() == d.Old():
		return fmt.Sprintf("%s is %s, signed as %s", d.Path, fromDifference(d.Object, d.Message),
			fromDifference(d.Message, d.Object))
	default:
		return fmt.Sprintf("%s is %s, signed as %s", d.Path, d.New(), d.Old())
	}
}

// fromDifference describes a long text from the place where it differs from another.
func fromDifference(value, other any) string {
	text, isText := value.(string)
	otherText, _ := other.(string)
	if !isText {
		return describe(value, true)
	}
	runes, others := []rune(text), []rune(otherText)
	same := 0
	for same < len(runes) && same < len(others) && runes[same] == others[same] {
		same++
	}
	return "…" + describe(string(runes[max(0, same-10):]), true)
}

func describe(value any, present bool) string {
	switch v := value.(type) {
	case nil:
		if !present {
			return "absent"
		}
		return "null"
	case string:
		if runes := []rune(v); len(runes) > 60 {
			return strconv.Quote(string(runes[:57])) + "…"
		}
		return strconv.Quote(v)
	case map[string]any:
		return "a mapping of " + counted(len(v), "key")
	case []any:
		return "a list of " + counted(len(v), "item")
	case int64:
		return strconv.FormatInt(v, 10)
	case float64: // 100.0 is not the same as 100
		if text := strconv.FormatFloat(v, 'f', 1, 64); v == math.Trunc(v) && len(text) < 20 {
			return text
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return fmt.Sprintf("%v", v)
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Compare returns the first differences between an object and its signed message, at most limit, in
// the order of their keys. None means that both are equal, types included, except for the signature
// annotations and the additions listed above. The time is linear in the size of both.
func Compare(object, message *exception.Document, limit int) []Difference {
	return Added{}.Compare(object, message, limit)
}

// Compare compares like the function Compare, and also allows the additions in a.
func (a Added) Compare(object, message *exception.Document, limit int) []Difference {
	have, signed := object.Object(), message.Object()
	a.leaveOut(have, signed)
	c := comparison{limit: limit}
	c.compare(nil, signed, have)
	return c.differences
}

func (a Added) leaveOut(have, signed map[string]any) {
	delete(have, "status")
	delete(signed, "status")
	haveMeta, _ := have["metadata"].(map[string]any)
	signedMeta, _ := signed["metadata"].(map[string]any)
	for _, field := range serverSet {
		delete(haveMeta, field)
		delete(signedMeta, field)
	}
	removeAdded(haveMeta, signedMeta, "annotations", a.Annotations)
	removeAdded(haveMeta, signedMeta, "labels", a.Labels)
}

// removeAdded removes keys that are not in the message: those of the signatures, of delivery tools, and
// those with their allowed value. If the mapping becomes empty, it is removed too: tools created
// it for those keys.
func removeAdded(haveMeta, signedMeta map[string]any, field string, allowed map[string]string) {
	have, _ := haveMeta[field].(map[string]any)
	signed, _ := signedMeta[field].(map[string]any)
	before := len(have)
	for key, value := range have {
		only, isAllowed := allowed[key]
		switch _, isSigned := signed[key]; {
		case isSigned:
		case field == "annotations" && IsKey(key), Tracks(field, key, value), isAllowed && value == only:
			delete(have, key)
		}
	}
	if _, inMessage := signedMeta[field]; !inMessage && len(have) == 0 && before > 0 {
		delete(haveMeta, field)
	}
}

type comparison struct {
	limit       int
	differences []Difference
}

func (c *comparison) full() bool { return len(c.differences) >= c.limit }

func (c *comparison) add(d Difference) {
	if !c.full() {
		c.differences = append(c.differences, d)
	}
}

func (c *comparison) compare(path exception.Path, signed, have any) {
	if c.full() {
		return
	}
	switch s := signed.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok {
			c.mappings(path, s, h)
			return
		}
	case []any:
		if h, ok := have.([]any); ok {
			c.lists(path, s, h)
			return
		}
	default:
		// signed is a scalar here. A mapping or list in the object is a difference, and comparing
		// it with == would panic.
		switch have.(type) {
		case map[string]any, []any:
		default:
			if signed == have {
				return
			}
		}
	}
	c.add(Difference{Path: path, InMessage: true, InObject: true, Message: signed, Object: have})
}

func (c *comparison) mappings(path exception.Path, signed, have map[string]any) {
	keys := make([]string, 0, len(signed)+len(have))
	for key := range signed {
		keys = append(keys, key)
	}
	for key := range have {
		if _, both := signed[key]; !both {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	for _, key := range keys {
		s, inMessage := signed[key]
		h, inObject := have[key]
		if added, _ := h.(map[string]any); !inMessage && len(added) > 0 && len(path) == 1 && path[0] == "metadata" {
			s, inMessage = map[string]any{}, true // reports each added label
		}
		if inMessage && inObject {
			c.compare(path.With(key), s, h)
			continue
		}
		c.add(Difference{Path: path.With(key), InMessage: inMessage, InObject: inObject, Message: s, Object: h})
	}
}

func (c *comparison) lists(path exception.Path, signed, have []any) {
	for i := 0; i < len(signed) || i < len(have); i++ {
		switch {
		case i >= len(have):
			c.add(Difference{Path: path.With(i), InMessage: true, Message: signed[i]})
		case i >= len(signed):
			c.add(Difference{Path: path.With(i), InObject: true, Object: have[i]})
		default:
			c.compare(path.With(i), signed[i], have[i])
		}
	}
}

// tracking lists the labels and annotations that delivery tools write on every object they apply.
// Names are exact and count only in the listed place; there are no prefixes or patterns. A key that
// is also in the message is compared like any other.
//
// They state the owner, the source or the last applied content. A forged value can make the tool
// delete the object or forget it, as a deletion can, and changes nothing that Kyverno or polex
// reads. Metadata that tells a tool to prune, skip, keep or replace an object is never listed.
var tracking = map[string][]string{
	"annotations": {
		"kubectl.kubernetes.io/last-applied-configuration",
		// Argo CD: common/common.go
		"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id",
		// kustomize, buildMetadata: api/internal/utils/annotations.go
		"config.kubernetes.io/origin", "alpha.config.kubernetes.io/transformations",
		// Rancher Fleet and k3s: rancher/wrangler pkg/apply/desiredset_apply.go, desiredset_compare.go
		"objectset.rio.cattle.io/id", "objectset.rio.cattle.io/applied", "objectset.rio.cattle.io/owner-gvk",
		"objectset.rio.cattle.io/owner-name", "objectset.rio.cattle.io/owner-namespace",
		// kapp: pkg/kapp/resources/identity_annotation.go, pkg/kapp/diff/resource_with_history.go
		"kapp.k14s.io/identity", "kapp.k14s.io/original", "kapp.k14s.io/original-diff-md5",
		// Config Sync: pkg/metadata/annotations.go; the last one is of cli-utils, and kpt's too
		"configmanagement.gke.io/cluster-name", "configmanagement.gke.io/source-path", "configmanagement.gke.io/token",
		"configsync.gke.io/declared-fields", "configsync.gke.io/git-context", "configsync.gke.io/manager",
		"configsync.gke.io/resource-id", "config.k8s.io/owning-inventory",
	},
	"labels": {
		// Argo CD: the default and the documented application.instanceLabelKey
		"app.kubernetes.io/instance", "argocd.argoproj.io/instance",
		"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace", // Flux
		"objectset.rio.cattle.io/hash",                 // Rancher Fleet and k3s
		"kapp.k14s.io/app", "kapp.k14s.io/association", // kapp: pkg/kapp/resources/association_label.go
		// Config Sync: pkg/metadata/labels.go; the last one is kubectl's too (apply --applyset)
		"configsync.gke.io/declared-version", "applyset.kubernetes.io/part-of",
	},
}

// trackingValues lists those of Config Sync that have one value. "managed: disabled" stops the sync.
var trackingValues = map[string]map[string]string{
	"annotations": {"configmanagement.gke.io/managed": "enabled"},
	"labels":      {"app.kubernetes.io/managed-by": "configmanagement.gke.io"},
}

// Tracks reports whether a delivery tool writes an annotation or a label on every object that it
// applies. field is "annotations" or "labels".
func Tracks(field, key string, value any) bool {
	fixed, hasFixed := trackingValues[field][key]
	return slices.Contains(tracking[field], key) || hasFixed && value == fixed
}
