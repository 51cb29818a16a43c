//go:build !unix

package main

func benchStopTests() tests { return nil }
