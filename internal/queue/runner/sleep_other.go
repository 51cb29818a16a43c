//go:build !linux

package runner

import "time"

func preciseSleep(d time.Duration) { time.Sleep(d) }
