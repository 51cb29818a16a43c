package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sqluice/sqluice/internal/queue/core"
	"github.com/sqluice/sqluice/jobs"
)

// errMissed ends the watch on the directory: it found a commit without an event.
var errMissed = errors.New("a commit was found without an event of the system")

// safetyLook is the interval at which the watch looks without an event.
const safetyLook = time.Second

// tail holds the waits between the looks that follow an event. The event of a write to the WAL comes before the commit
// is visible; under synchronous=FULL an fsync comes between. Looks continue after a hit, for the next commit.
var tail = [...]time.Duration{
	40 * time.Microsecond, 80 * time.Microsecond, 160 * time.Microsecond, time.Millisecond, 2 * time.Millisecond,
	4 * time.Millisecond, 8 * time.Millisecond, 16 * time.Millisecond, 32 * time.Millisecond, 64 * time.Millisecond,
	128 * time.Millisecond, 256 * time.Millisecond, // for a slow disk
}

const (
	// lookEvery is the shortest time between two wakes under load, and between two looks during continuous events.
	lookEvery = time.Millisecond

	// looksAtOnce is the number of events in a row that get a look without a pause: a commit causes several.
	looksAtOnce = 8

	// The bounds of the pauses while every listener has a wake waiting.
	restLeast = 4 * time.Millisecond
	restMost  = 16 * time.Millisecond
)

// watchEvents wakes listeners by inotify: one watch on the database's folder for the WAL, to which any program's commit
// writes, and one on the side folder for the doorbell file, to which the library writes once its own commits are
// visible. It never opens the files themselves. It returns when ctx ends or when events prove insufficient.
func (h *hub) watchEvents(ctx context.Context, version *dataVersion) error {
	for {
		if err := h.watchFolders(ctx, version); !errors.Is(err, errWatchGone) || errors.Is(err, errMissed) {
			return err
		}
	}
}

// watchFolders does the work of watchEvents until one of the folders is replaced; then it returns errWatchGone.
func (h *hub) watchFolders(ctx context.Context, version *dataVersion) error {
	bell, err := h.side.open(bellFile)
	if err != nil {
		return err
	}
	if err := bell.Close(); err != nil {
		return err
	}
	events, err := newEvents(filepath.Dir(h.path), filepath.Base(h.path)+"-wal", h.side.path, bellFile)
	if err != nil {
		return err
	}
	defer events.close()
	unblock := context.AfterFunc(ctx, events.close)
	defer unblock()

	version.changed(ctx) // the start value
	h.wake(core.WorkReady|core.JobEnded, jobs.WakeStart)
	for ctx.Err() == nil {
		happened, err := events.wait(safetyLook)
		if err != nil {
			return err
		}
		if !happened {
			if !version.changed(ctx) || ctx.Err() != nil {
				continue
			}
			h.wake(core.WorkReady|core.JobEnded, jobs.WakeSafety)
			if version.began {
				continue // whether commits were missed is unknown
			}
			// The event of a commit precedes its visibility, so by now the event is there, or never comes.
			if happened, err = events.wait(0); err != nil || !happened {
				return errors.Join(err, errMissed)
			}
		}
		if err := h.follow(ctx, version, events); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// follow looks right after an event, and again after each wait of tail; a further event restarts the waits.
func (h *hub) follow(ctx context.Context, version *dataVersion, events *events) error {
	skipped, inRow, rest := false, 0, restLeast
	for step := 0; ctx.Err() == nil; {
		if skipped = h.noneToWake(); skipped {
			time.Sleep(rest) // every listener has a wake waiting already
			rest = min(2*rest, restMost)
		} else if rest = restLeast; version.changed(ctx) {
			h.wake(core.WorkReady|core.JobEnded, jobs.WakeEvent)
			runtime.Gosched() // the woken goroutine runs here: waking another processor takes longer
			pause(lookEvery)
		}
		if step == len(tail) {
			if skipped && version.changed(ctx) { // otherwise the safety look would report a commit without an event
				h.wake(core.WorkReady|core.JobEnded, jobs.WakeEvent)
			}
			return nil
		}
		wait := tail[step]
		step++
		if wait < time.Millisecond {
			if !skipped {
				pause(wait)
			}
			wait = 0
		}
		happened, err := events.wait(wait)
		if err != nil {
			return err
		}
		if !happened {
			continue
		}
		step = 0
		if inRow++; wait > 0 {
			inRow = 0 // there was a pause
		} else if inRow > looksAtOnce {
			pause(lookEvery) // most are of this process's own writes
		}
	}
	return nil
}

// pause sleeps for less than a millisecond, which is the resolution of Go's timers in an idle process.
func pause(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal may end it early, which does no harm
}

// errWatchGone ends a watch whose folder was deleted.
var errWatchGone = errors.New("a watched folder was deleted")

// events receives the writes to two files by inotify on their folders.
type events struct {
	file   *os.File
	names  map[int32]string // watch descriptor to the name of the watched file in that folder
	buffer [4096]byte
}

func newEvents(pairs ...string) (*events, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	e := &events{file: os.NewFile(uintptr(fd), "inotify"), names: map[int32]string{}}
	for i := 0; i < len(pairs); i += 2 {
		wd, err := unix.InotifyAddWatch(fd, pairs[i], unix.IN_MODIFY|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("inotify on %s: %w", pairs[i], err), e.file.Close())
		}
		e.names[int32(wd)] = pairs[i+1]
	}
	return e, nil
}

// wait waits for at most d, and reports whether a file was written to; with 0 it does not block.
func (e *events) wait(d time.Duration) (bool, error) {
	end := time.Now().Add(d)
	for {
		if err := e.file.SetReadDeadline(end); err != nil {
			return false, fmt.Errorf("inotify: %w", err)
		}
		n, err := e.read(d)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("inotify: %w", err)
		}
		if n == 0 && d == 0 {
			return false, nil
		}
		if matters, err := e.matter(e.buffer[:n]); matters || err != nil {
			return matters, err
		}
	}
}

// read reads events; with d = 0 it makes one attempt, which a deadline in the past would not.
func (e *events) read(d time.Duration) (int, error) {
	if d > 0 {
		return e.file.Read(e.buffer[:])
	}
	raw, err := e.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	n := 0
	var readErr error
	err = raw.Control(func(fd uintptr) {
		n, readErr = unix.Read(int(fd), e.buffer[:])
	})
	if readErr == unix.EAGAIN || readErr == unix.EINTR {
		return 0, err
	}
	return n, errors.Join(err, readErr)
}

// matter reports whether a buffer of struct inotify_event holds an event of a watched file, or an overflow.
func (e *events) matter(buffer []byte) (bool, error) {
	matters := false
	for len(buffer) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(buffer))
		mask := binary.NativeEndian.Uint32(buffer[4:])
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buffer[12:]))
		if size > len(buffer) {
			return true, nil
		}
		if mask&unix.IN_IGNORED != 0 {
			return false, errWatchGone
		}
		name := string(bytes.TrimRight(buffer[unix.SizeofInotifyEvent:size], "\x00"))
		if mask&unix.IN_Q_OVERFLOW != 0 || e.names[wd] == name {
			matters = true
		}
		buffer = buffer[size:]
	}
	return matters, nil
}

// close also ends a wait in another goroutine.
func (e *events) close() { _ = e.file.Close() }
