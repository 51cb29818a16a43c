package runner

// claimsOnly reports whether a cycle only claims from one queue, for free slots, after a notification, as of the first job after a
// rest. An engine for which each statement is a round trip then sends the claim and its commit in one, in place of three. The claim
// takes nothing when a scheduled job is due; another cycle then promotes and claims. While a suspect job runs claimsOnly returns
// false, because the claim could take a job that must wait for that one.
func (p *producer) claimsOnly(c *cycle) bool {
	if len(c.ended) > 0 || c.behind || len(c.wants) != 1 || !p.notified || !p.next.IsZero() && !p.next.After(p.store.Now()) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holdsSuspects() {
		return false
	}
	for queue, n := range c.wants {
		return n <= c.slots[queue]
	}
	return false
}
