package sign

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/trust"
)

// tokenClaims are claims of a token. They are not verified here; Fulcio verifies them.
type tokenClaims struct {
	Expiry         float64 `json:"exp"` // seconds since 1970
	Issuer         string  `json:"iss"`
	Audience       any     `json:"aud"` // a text, or a list
	Email          string  `json:"email"`
	JobWorkflowRef string  `json:"job_workflow_ref"` // of GitHub
	Federated      struct {
		ConnectorID string `json:"connector_id"` // the upstream issuer of the identity
	} `json:"federated_claims"`
}

func readToken(token string) (tokenClaims, error) {
	var claims tokenClaims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims, errors.New("the identity token is not a JSON web token")
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		return claims, errors.New("the identity token is not a JSON web token")
	}
	return claims, nil
}

// audience describes the audience for a message.
func (c tokenClaims) audience() string {
	if c.Audience == nil {
		return ""
	}
	return strings.Trim(fmt.Sprint(c.Audience), "[]")
}

// unexpired reports an expired token earlier and more clearly than Fulcio.
func (c tokenClaims) unexpired(now time.Time) error {
	if at := time.Unix(int64(c.Expiry), 0); c.Expiry > 0 && !now.Before(at) {
		return fmt.Errorf("%w, at %s", ErrTokenExpired, at.UTC().Format(time.RFC3339))
	}
	return nil
}

// describe returns an error if the token does not describe an identity. Otherwise a Fulcio could
// answer with another identity, and the batch would be signed with it. The subject is compared if
// Fulcio takes it from a single claim: for a GitHub workflow and for a person.
func (c tokenClaims) describe(id trust.Identity) error {
	if id.Issuer != c.Issuer && (c.Federated.ConnectorID == "" || id.Issuer != c.Federated.ConnectorID) {
		return fmt.Errorf("it is for an identity of %q, and the token is of %q", id.Issuer, c.Issuer)
	}
	switch {
	case c.JobWorkflowRef != "" && !strings.HasSuffix(id.Subject, "/"+c.JobWorkflowRef):
		return fmt.Errorf("it is for %q, and the token for the workflow %q", id.Subject, c.JobWorkflowRef)
	case id.Type == "email" && id.Subject != c.Email:
		return fmt.Errorf("it is for %q, and the token for %q", id.Subject, c.Email)
	}
	return nil
}
