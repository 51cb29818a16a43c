//go:build !unix

package main

func limitFileSize(uint64) { panic("the system has no limit of a file's size") }
