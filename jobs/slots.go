package jobs

import "time"

// shortPace is how long attempts of a queue take, on an average, for which it is not worth while to wake a goroutine each: the
// system's scheduler lets one that computes go on for as long as fifty of them take.
const shortPace = 200 * time.Microsecond

// start runs an attempt on a goroutine that has run others, if one is free: its stack has grown already to what handlers
// need, which is a fifth of the time of a job that does nothing. nil is for one of those that wait in the list.
func (s *session) start(a *attempt) {
	select {
	case s.next <- a:
	default:
		go s.slot(a)
	}
}

// slot runs attempts until the session is over. There are about as many of these as handlers that ran at once.
func (s *session) slot(a *attempt) {
	for {
		if a == nil {
			a = s.takeWoken()
		}
		for a != nil {
			a = a.execute()
		}
		select {
		case a = <-s.next:
		case <-s.finished:
			return
		}
	}
}

// list has attempts that will most likely be short run by a few goroutines: one is woken, takes the next when it has ended one,
// and so on. It wakes another when it finds more than it takes, which goes on when a handler waits for something after all. To wake
// one for each is a tenth of the time of a job that does nothing. While the list is not empty, a goroutine has been woken for it.
// It reports whether the caller is to wake that, by start(nil), without mu. Callers hold mu.
func (s *session) list(a *attempt) (wake bool) {
	s.listed = append(s.listed, a)
	return s.wakeMore()
}

func (s *session) wakeMore() bool {
	if len(s.listed) == 0 || s.waking {
		return false
	}
	s.waking = true
	return true
}

// takeWoken is takeListed for a goroutine that was woken for it.
func (s *session) takeWoken() *attempt {
	s.mu.Lock()
	s.waking = false
	a, wake := s.takeListed()
	s.mu.Unlock()
	if wake {
		s.start(nil)
	}
	return a
}

// takeListed returns the next attempt of the list, if any, and whether another goroutine is to be woken. Callers hold mu.
func (s *session) takeListed() (a *attempt, wake bool) {
	if len(s.listed) == 0 {
		return nil, false
	}
	return pop(&s.listed), s.wakeMore()
}

// pop takes the first attempt of a list that has one, and keeps no memory of it.
func pop(list *[]*attempt) *attempt {
	first := (*list)[0]
	(*list)[0] = nil
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil
	}
	return first
}
