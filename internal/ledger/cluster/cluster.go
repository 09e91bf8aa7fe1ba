package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/ledger"
	"github.com/polex-dev/polex/pkg/exception"
)

// Parse reads a list of exceptions in YAML or JSON, the output of kubectl get -o yaml or -o json.
func Parse(raw []byte) (ledger.Cluster, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ledger.Cluster{}, errors.New("it is empty, which is not a cluster without exceptions: " +
			"that is a List without items")
	}
	if raw[0] != '{' {
		var err error
		if raw, err = yaml.YAMLToJSONStrict(raw); err != nil {
			return ledger.Cluster{}, err
		}
	}
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return ledger.Cluster{}, err
	}
	if list.Kind != "List" && list.Kind != exception.Kind+"List" || list.Items == nil {
		return ledger.Cluster{}, fmt.Errorf("it is a %q and not a List of exceptions", list.Kind)
	}
	var c objects
	for _, item := range list.Items {
		if err := c.add(item); err != nil {
			return ledger.Cluster{}, err
		}
	}
	return c.Cluster, nil
}

// objects collects the exceptions of a list. Each object is parsed as strictly as a file.
type objects struct {
	ledger.Cluster
	read int
}

func (o *objects) add(item []byte) error {
	if o.read++; o.read > ledger.MaxObjects {
		return fmt.Errorf("more than %d objects", ledger.MaxObjects)
	}
	doc, err := exception.ParseUndeployed(item, "")
	switch {
	case err != nil:
		o.Unreadable = append(o.Unreadable, fmt.Sprintf("object %d: %s", o.read, err))
	case !doc.GroupKind().IsException():
		return fmt.Errorf("object %d is a %s and not an exception", o.read, doc.GroupKind())
	default:
		o.Objects = append(o.Objects, doc)
	}
	return nil
}
