// Package github is GitHub as a forge. internal/restapi sends the requests.
package github
