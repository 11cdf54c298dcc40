//go:build !unix

package doctor

import "context"

// machine checks nothing: limits and disks are asked for in another way here.
func (r *report) machine(context.Context) {}
