package main

import "slices"

// BullMQ, https://bullmq.io, on PostgreSQL and on Redis. node/bullmq.js says where its settings come from.

const (
	bullmqDefaultSlots        = 1   // of WorkerOptions.concurrency
	bullmqBestSlotsPostgreSQL = 24  // its page on PostgreSQL measures 8 to 32; the server allows 400 connections
	bullmqBestSlotsRedis      = 200 // its page on concurrency: "between 100 and 300 is a quite standard setting"
)

// bullmqOneSlot is the divisor of a drain's jobs in the default settings: each job waits for the end of the one before.
const bullmqOneSlot = 10

func bullmqs() []contender {
	best := nodePeer("BullMQ", "bullmq", "bullmq")
	best.slots = bullmqBestSlotsPostgreSQL
	normal := best
	normal.settings, normal.slots, normal.timed = settingsDefault, bullmqDefaultSlots, bullmqOneSlot
	redis := best
	redis.engine = onRedis
	inRedis := inSettings(redis, bullmqDefaultSlots, bullmqBestSlotsRedis)
	inRedis[0].timed = bullmqOneSlot
	return slices.Concat([]contender{normal, best}, inRedis)
}
