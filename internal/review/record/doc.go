// Package record writes the review record into documents: the requester and the approvers of the
// commit that added each document.
package record
