package jobs

// ready gives attempts that have a slot to the goroutines that run them. One is woken; it wakes another when it finds more than
// it takes, and so on: handlers that end at once are all run by a few, and each that goes on for longer, or waits for
// something, leaves the next one to another goroutine. To wake one for each is a tenth of the time of a job that does nothing.
// Callers hold mu, and call s.wakeSlot when it says so.
func (s *session) ready(attempts ...*attempt) (wake bool) {
	s.begun = append(s.begun, attempts...)
	return s.wakeMore()
}

// wakeMore reports whether a goroutine is to be woken for what waits. Callers hold mu.
func (s *session) wakeMore() bool {
	if len(s.begun) == 0 || s.waking {
		return false
	}
	s.waking = true
	return true
}

// wakeSlot wakes a goroutine that has run attempts before, if one is free: its stack has grown already to what handlers need,
// which is a fifth of the time of a job that does nothing.
func (s *session) wakeSlot() {
	select {
	case s.next <- struct{}{}:
	default:
		go s.slot()
	}
}

// slot runs attempts until the session is over. There are about as many of them as handlers that ran at once.
func (s *session) slot() {
	for {
		s.mu.Lock()
		s.waking = false
		a, wake := s.takeBegun()
		s.mu.Unlock()
		if wake {
			s.wakeSlot()
		}
		for a != nil {
			a = a.execute()
		}
		select {
		case <-s.next:
		case <-s.finished:
			return
		}
	}
}

// takeBegun returns the next attempt that has a slot and waits for a goroutine, and whether another is to be woken. Callers hold mu.
func (s *session) takeBegun() (a *attempt, wake bool) {
	if len(s.begun) == 0 {
		return nil, false
	}
	a = s.begun[0]
	s.begun[0] = nil
	if s.begun = s.begun[1:]; len(s.begun) == 0 {
		s.begun = nil
	}
	return a, s.wakeMore()
}

// handOn gives an attempt to another goroutine: the one that had it ends with its handler.
func (s *session) handOn(a *attempt) {
	s.mu.Lock()
	wake := s.ready(a)
	s.mu.Unlock()
	if wake {
		s.wakeSlot()
	}
}
