// Package report writes the audit report: as a table, Markdown or an HTML page for people, and as
// JSON, CSV or metrics for programs. Texts in the report may be hostile, so each format escapes
// them.
package report
