package jobs

// start runs an attempt on a goroutine that has run others, if one is free: its stack has grown already to what
// handlers need, which is a fifth of the time of a job that does nothing.
func (s *session) start(a *attempt) {
	select {
	case s.next <- a:
	default:
		go s.slot(a)
	}
}

// slot runs attempts until the session is over. There are never more of them than attempts that ran at once.
func (s *session) slot(a *attempt) {
	for {
		if next := a.execute(); next != nil {
			a = next
			continue
		}
		select {
		case a = <-s.next:
		case <-s.finished:
			return
		}
	}
}
