// Package top shows the state of a queue on a terminal, for the command `sqluice top`.
//
//	Source   opens the database and reads frames; opens it again after an error
//	Frame    the state of the queue at one time
//	rates    jobs per second, from the differences between frames
//	model    the program of the terminal: keys, timers, and the frames read so far
//	view     the lines of a frame, made of grids that fit any width
//
// Watch runs the model on a terminal; Text returns one frame without it. The package knows no flags and no addresses of databases: the
// command passes a function that opens the database. Text of the database reaches the terminal only through package printable.
package top
