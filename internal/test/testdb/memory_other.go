//go:build !linux

package testdb

// memoryDir returns "": no folder is known whose files are in memory.
func memoryDir() string { return "" }
