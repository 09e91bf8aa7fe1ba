package ledger

import (
	"encoding/json"
	"time"
)

// approval is a reference to another entry.
type approval struct {
	Object  string `json:"object"`
	Version int    `json:"version"`
}

func approvalOf(e *Entry) *approval {
	if e == nil {
		return nil
	}
	return &approval{e.Identity.String(), e.Version}
}

// MarshalJSON writes the entry with its identity, and references instead of other entries.
func (e *Entry) MarshalJSON() ([]byte, error) {
	type entry Entry // without this method
	type renewal struct {
		Object string    `json:"object"`
		Digest string    `json:"messageDigest"`
		Number int       `json:"number"`
		Of     *approval `json:"of,omitempty"`
	}
	id := e.Identity
	out := struct {
		Object    string `json:"object"`
		Group     string `json:"group"`
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		*entry
		Renews    *renewal    `json:"renews,omitempty"`
		RenewedBy []*approval `json:"renewedBy,omitempty"`
	}{Object: id.String(), Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, entry: (*entry)(e)}
	if e.Renews != nil {
		out.Renews = &renewal{e.Predecessor().String(), e.Renews.Digest, e.Renews.Number, approvalOf(e.Renews.Of)}
	}
	for _, successor := range e.RenewedBy {
		out.RenewedBy = append(out.RenewedBy, approvalOf(successor))
	}
	return json.Marshal(out)
}

// MarshalJSON writes the chain with references to its first and last entry, and its length in
// seconds.
func (c *Chain) MarshalJSON() ([]byte, error) {
	type chain Chain // without this method
	out := struct {
		First *approval `json:"first"`
		Last  *approval `json:"last"`
		*chain
		Seconds *int64 `json:"seconds,omitempty"`
	}{First: approvalOf(c.First()), Last: approvalOf(c.Last()), chain: (*chain)(c)}
	if length, known := c.Length(); known {
		seconds := int64(length / time.Second)
		out.Seconds = &seconds
	}
	return json.Marshal(out)
}

// inUTC converts a time to UTC and whole seconds. It returns zero for a year that RFC 3339 cannot
// write.
func inUTC(t time.Time) time.Time {
	if t = t.UTC().Truncate(time.Second); t.Year() > 9999 || t.Year() < 0 {
		return time.Time{}
	}
	return t
}
