// Package groupcommit lets concurrent callers share a transaction, with no delay added.
//
// A caller that finds fewer groups under way than Groups becomes a leader at once: it runs a group of itself and of all waiting
// callers. When the group has ended, it wakes the members and hands leadership to a caller that came meanwhile. So a lone caller
// pays for no goroutine switch, and many callers share a commit.
//
//	callers      Do  Do  Do  Do  Do
//	              |   |   |   |   |
//	            leads |   wait  wait      one group under way
//	              |   +---+---+---+
//	            ends -> wakes its members, then the first that waits
//	                      |
//	                    leads, with all others that wait
//
// The package knows no database and no job: Run, which the engine provides, gives each member its outcome. It starts no goroutine.
package groupcommit
