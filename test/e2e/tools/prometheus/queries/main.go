// Command queries says what queries ask for that is not there: it reads what was
// measured, in Prometheus' text format, and queries in PromQL, and looks for every
// metric, label and value of the queries in what was measured.
//
// It reads a [Question] in JSON from its standard input, and writes the problems of
// each query, a list of lists, to its standard output.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

// Question is what is asked.
type Question struct {
	// Measured are the answers of some /metrics, and files of the same format.
	Measured []string
	// Values are those that a label may have beside the ones that were measured.
	Values map[string][]string
	// Given are labels that every metric has, since Prometheus adds them.
	Given   []string
	Queries []Query
}

// Query is a query, and the labels that are read from its answer.
type Query struct {
	Expression string
	Read       []string
}

func main() {
	var q Question
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		log.Fatal(err)
	}
	known, err := measured(q)
	if err != nil {
		log.Fatal(err)
	}
	answer := make([][]string, len(q.Queries))
	for i, query := range q.Queries {
		answer[i] = problems(known, query)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		log.Fatal(err)
	}
}

func problems(known catalog, query Query) []string {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(query.Expression)
	if err != nil {
		return []string{err.Error()}
	}
	c := checker{known: known, problems: []string{}}
	has := c.labels(parsed)
	for _, name := range query.Read {
		if !has[name] {
			c.complain("the answer has no label %s", name)
		}
	}
	return c.problems
}

type checker struct {
	known    catalog
	problems []string
}

func (c *checker) complain(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}
