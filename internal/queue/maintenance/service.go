package maintenance

import "context"

// Service is work that goes on beside a runner's jobs.
type Service interface {
	// Name says in log lines which service it is.
	Name() string

	// Run works until ctx ends. It logs its failures and tries again.
	Run(ctx context.Context)
}
