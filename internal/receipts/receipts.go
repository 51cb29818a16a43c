// Package receipts has what programs and tests of this module do with the receipts of many enqueues.
package receipts

import "github.com/sqluice/sqluice/jobs"

// IDs returns the ids of receipts, in their order, and err. It takes what EnqueueMany returns.
func IDs(list []jobs.Receipt, err error) ([]int64, error) {
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(list))
	for i, receipt := range list {
		ids[i] = receipt.ID
	}
	return ids, nil
}
