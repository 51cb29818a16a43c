package jobs

// start runs an attempt on a goroutine that has run others, if one is free: its stack has grown already to what handlers
// need, which is a fifth of the time of a job that does nothing.
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
		for a != nil {
			e := execution{attempt: a}
			e.run()
			a = e.next
		}
		select {
		case a = <-s.next:
		case <-s.finished:
			return
		}
	}
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
