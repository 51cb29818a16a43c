// Package recipes tests the recipes below it: how a job is enqueued, and ended, in a transaction of an application's own library. The page
// docs/recipes.md lists them.
//
// It is a module of its own. What it requires is never downloaded for a program that uses the queue.
package recipes
