// Package rules matches the rules of webhooks and admission policies to requests as the API server
// does. It has no cluster and does no I/O.
package rules
