package main

import "syscall"

// separate gives a server a process group, which keeps the terminal's Ctrl-C from it.
func separate(attributes *syscall.SysProcAttr) { attributes.Setpgid = true }
