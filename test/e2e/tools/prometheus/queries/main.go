// Command queries finds unknown names in queries. It reads measured metrics in Prometheus' text
// format and queries in PromQL. It looks for every metric, label and value of the queries in the
// metrics.
//
// It reads a [Question] in JSON from its standard input. It writes a list with the problems of each
// query to its standard output.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

// Question is the input of the program.
type Question struct {
	// Measured are answers of /metrics, and files in the same format.
	Measured []string
	// Values are further values of a label.
	Values map[string][]string
	// Given are labels that Prometheus adds to every metric.
	Given   []string
	Queries []Query
}

// Query is a query, and the labels that are used from its result.
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
