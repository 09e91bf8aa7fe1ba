package main

import (
	"fmt"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// catalog has the labels of each metric, and the values of each label.
type catalog map[string]map[string]set

type set map[string]bool

// measured reads the measured metrics.
func measured(q Question) (catalog, error) {
	c := catalog{}
	for i, text := range q.Measured {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("read what was measured, %d: %w", i, err)
		}
		for name, family := range families {
			for _, m := range family.GetMetric() {
				c.add(name, family.GetType(), m)
			}
		}
	}
	for _, labels := range c {
		for _, name := range q.Given {
			labels[name] = set{"": true}
		}
		for name, values := range q.Values {
			for _, value := range values {
				if labels[name] != nil {
					labels[name][value] = true
				}
			}
		}
	}
	return c, nil
}

func (c catalog) add(name string, kind dto.MetricType, m *dto.Metric) {
	names := []string{name}
	if kind == dto.MetricType_HISTOGRAM {
		names = []string{name + "_bucket", name + "_sum", name + "_count"}
	}
	for _, name := range names {
		if c[name] == nil {
			c[name] = map[string]set{}
		}
		for _, l := range m.GetLabel() {
			c.value(name, l.GetName(), l.GetValue())
		}
	}
	for _, b := range m.GetHistogram().GetBucket() {
		c.value(names[0], "le", fmt.Sprint(b.GetUpperBound()))
	}
}

func (c catalog) value(metric, label, value string) {
	if c[metric][label] == nil {
		c[metric][label] = set{}
	}
	c[metric][label][value] = true
}
