package tools

import (
	"context"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/calc"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

type calculateInput struct {
	Expression string `json:"expression" rule:"required,min=1,max=1000" about:"Such as (1250 - 17%) * 3^2 or round(sqrt(2), 3). 17% is 0.17; 17% of 80 is 13.6."`
}

func calculateTool() loop.Tool {
	return define(Calculate, "Computes an arithmetic expression exactly: + - * / % ^ !, parentheses, the constants pi, tau and e, and the functions "+
		strings.Join(calc.Functions(), ", ")+".", 5*time.Second, calculate)
}

func calculate(_ context.Context, in calculateInput) (loop.Result, error) {
	result, err := calc.Evaluate(in.Expression)
	if err != nil {
		return loop.Result{}, apierr.New(apierr.InvalidRequest, err.Error())
	}
	fields := map[string]any{"result": result.Text, "exact": result.Exact}
	if result.Fraction != "" {
		fields["fraction"] = result.Fraction
	}
	equals := "="
	if !result.Exact {
		equals = "≈"
	}
	return jsonResult(fields, "%s %s %s", safetext.Truncate(strings.Join(strings.Fields(in.Expression), " "), 200), equals, result.Text)
}
