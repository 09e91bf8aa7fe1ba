// Package manifest has facts about all Kubernetes documents: the groups, scopes and URLs of kinds,
// and the texts in a document. It also writes documents for people.
package manifest
