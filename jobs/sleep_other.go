//go:build !linux

package jobs

import "time"

func preciseSleep(d time.Duration) { time.Sleep(d) }
