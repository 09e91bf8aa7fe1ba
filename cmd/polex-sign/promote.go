package main

import (
	"errors"
	"fmt"
	"net/mail"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/polex-dev/polex/cmd/internal/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/promote"
	"github.com/polex-dev/polex/pkg/seal"
)

// commit says who commits, and makes sure that somebody does before anything is
// signed.
func (r *run) commit(queue *promote.Queue) (*promote.Commit, error) {
	c := &promote.Commit{When: r.now}
	if r.options.author != "" {
		address, err := mail.ParseAddress(r.options.author)
		if err != nil || address.Name == "" {
			return nil, cli.Usagef("--author %q is not written as Name <address>", r.options.author)
		}
		c.Name, c.Email = address.Name, address.Address
	}
	err := queue.CheckAuthor(*c)
	if errors.Is(err, promote.ErrNoAuthor) {
		return nil, &cli.UsageError{Err: err, Hint: "set Git's user.name and user.email, or pass --author 'Name <address>'"}
	}
	return c, err
}

// apply moves the files and says what became of each.
func (r *run) apply(queue *promote.Queue, sealed []*exception.Document, commit *promote.Commit) error {
	details := make([]map[string]any, len(sealed))
	for i, doc := range sealed {
		var err error
		if details[i], err = sealDetails(doc); err != nil {
			return err
		}
		if commit != nil {
			commit.Trailers = append(commit.Trailers, fmt.Sprintf("Polex-Log-Index: %v", details[i]["logIndex"]))
		}
	}
	moves, hash, err := queue.Apply(sealed, commit)
	if err != nil {
		return err
	}
	next := 0
	for _, m := range moves {
		for _, doc := range m.Documents {
			result := cli.ResultFor(doc)
			result.File, result.Outcome, result.Reason = m.To, cli.Pass, "signed"
			result.Message = fmt.Sprintf("%s signed, from %s (log index %v)", doc.Identity(), m.From, details[next]["logIndex"])
			result.Details = details[next]
			if hash != "" {
				result.Details["commit"] = hash
			}
			r.report.Add(result)
			next++
		}
	}
	if err := r.format.Write(r.streams.Out, r.report); err != nil {
		return err
	}
	if hash != "" {
		_, _ = fmt.Fprintf(r.streams.Err, "committed %s\n", hash)
	}
	return r.report.Err()
}

// sealDetails says where the log has what was just signed, and since when where
// the log says that itself.
func sealDetails(doc *exception.Document) (map[string]any, error) {
	s, err := seal.Read(doc)
	if err != nil {
		return nil, err
	}
	first := s.Signatures[0]
	if first.Bundle != nil {
		return map[string]any{"logIndex": first.Bundle.Payload.LogIndex, "integratedTime": first.Bundle.Payload.IntegratedTime}, nil
	}
	var b protobundle.Bundle
	if err := protojson.Unmarshal(first.BundleV03, &b); err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	details := map[string]any{}
	for _, entry := range b.GetVerificationMaterial().GetTlogEntries() {
		details["logIndex"] = entry.GetLogIndex()
		if entry.GetIntegratedTime() > 0 {
			details["integratedTime"] = entry.GetIntegratedTime()
		}
	}
	return details, nil
}
