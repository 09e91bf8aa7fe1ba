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

// tokenClaims are what a token says of itself. Nobody has verified it yet: that
// is Fulcio's to do.
type tokenClaims struct {
	Expiry         float64 `json:"exp"` // seconds since 1970
	Issuer         string  `json:"iss"`
	Email          string  `json:"email"`
	JobWorkflowRef string  `json:"job_workflow_ref"` // of GitHub
	Federated      struct {
		ConnectorID string `json:"connector_id"` // where the issuer had the identity from
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

// unexpired says early and clearly what Fulcio would only refuse.
func (c tokenClaims) unexpired(now time.Time) error {
	if at := time.Unix(int64(c.Expiry), 0); c.Expiry > 0 && !now.Before(at) {
		return fmt.Errorf("%w, at %s", ErrTokenExpired, at.UTC().Format(time.RFC3339))
	}
	return nil
}

// describe refuses an identity that the token does not describe: a Fulcio that
// answers with somebody else's would have everything signed in their name. The
// subject is compared where Fulcio takes it from a single claim: a workflow's of
// GitHub, and a person's.
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
