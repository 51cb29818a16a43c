/* A job's life among workers that crash, stop for longer than their lease and come back: claim, extend, finish, release,
   rescue and retry by hand, as the statements in sql/queries make them. Each write is one atomic step, as a transaction
   is; everything else may happen in between. check.sh searches all that can happen.

   It promises, and asserts:
   - an attempt begins once (begun), and ends once (ended);
   - a finishing write is accepted only from who holds the job (holding), and a rescue takes a job only from a worker
     that is gone or whose lease is over;
   - no job is lost: a job that has not ended can always be claimed, finished or rescued by somebody. A search that gets
     stuck before is reported as an invalid end state.

   Defining one of NO_FENCE, NO_ATTEMPT, NO_STATUS, FALLING, NO_RESCUE or HASTY takes a safeguard out; then it must fail. */

#define WORKERS 2 /* processes, the first of which may die */
#define SLOTS 2   /* jobs that each runs at once */
#define MOST 2    /* attempts that count: max_attempts */
#define RELEASES 1
#define RETRIES 1 /* by hand */
#define NUMBERS 8 /* attempt numbers, from 1; more than there can be */
#define NOBODY 255

mtype = { pending, running, done, failed };

/* The row in table jobs. */
mtype status = pending;
byte attempt;
byte uncounted;
byte worker = NOBODY; /* worker_id */
bool over;            /* lease_until has passed */

/* The world. */
bool up[WORKERS];     /* the process lives: nobody else can take its lock */
byte releases;
byte retries;

/* What is really so, which no process can see. */
byte holding = NOBODY; /* the slot whose attempt it is */
byte begun[NUMBERS];
byte ended[NUMBERS];

#define ENDED (status == done || status == failed && retries == RETRIES)

/* The fence of finishing writes: WHERE status = 'running' AND attempt = @attempt AND worker_id = @worker_id. */
#if defined(NO_STATUS)
#define RUNS true
#else
#define RUNS (status == running)
#endif
#if defined(NO_FENCE) || defined(NO_ATTEMPT)
#define SAME true
#else
#define SAME (attempt == mine)
#endif
#if defined(NO_FENCE)
#define OURS true
#else
#define OURS (worker == me)
#endif
#define HELD (RUNS && SAME && OURS)

/* The attempt that the row names is over. */
inline end() {
	ended[attempt]++;
	assert(ended[attempt] == 1);
	holding = NOBODY;
	over = false
}

/* A finishing write was accepted. */
inline accepted() {
	assert(holding == _pid); /* or it was a stale one */
	end()
}

inline again_or_failed() {
	if
	:: attempt - uncounted >= MOST -> status = failed
	:: else -> status = pending; worker = NOBODY
	fi
}

proctype slot(byte me) {
	byte mine;
claim:
	if
	:: ENDED -> goto gone
	:: !up[me] -> goto gone
	:: atomic { up[me] && status == pending ->
		status = running;
		attempt++;
		worker = me;
		over = false;
		mine = attempt;
		assert(mine < NUMBERS);
		begun[mine]++;
		assert(begun[mine] == 1);
		assert(holding == NOBODY);
		holding = _pid
	   }
	fi;
	/* The handler runs here, and may be stopped for as long as it likes. */
	do
	:: !up[me] -> goto gone
	:: atomic { up[me] && over && HELD -> over = false } /* ExtendLeases */
	:: atomic { up[me] -> /* CompleteJobs */
		if
		:: HELD -> accepted(); status = done
		:: else -> skip /* ErrLeaseLost */
		fi;
		mine = 0;
		goto claim
	   }
	:: atomic { up[me] -> /* RetryJob, FailJob */
		if
		:: HELD -> accepted(); again_or_failed()
		:: else -> skip
		fi;
		mine = 0;
		goto claim
	   }
	:: atomic { up[me] && releases < RELEASES -> /* ReleaseJob, SnoozeJob */
		releases++;
		if
		:: HELD ->
			accepted();
			status = pending;
			worker = NOBODY;
#ifdef FALLING
			attempt--
#else
			uncounted++
#endif
		:: else -> skip
		fi;
		mine = 0;
		goto claim
	   }
	od;
gone:
	mine = 0
}

/* A worker that lives looks for others that are gone, and for leases that are over. Which one it is makes no difference:
   its writes look at nothing of its own. */
proctype rescuer() {
	byte dead = NOBODY;
	do
	:: ENDED -> break
#ifndef NO_RESCUE
#ifdef HASTY
	:: atomic { status == running -> dead = worker }; /* as on boot, without a look at the lock */
#else
	:: atomic { status == running && !up[worker] -> dead = worker }; /* TakeWorkerLock gets the lock */
#endif
	   atomic {
		if
		:: status == running && worker == dead ->
			assert(!up[dead]);
			end();
			again_or_failed()
		:: else -> skip
		fi;
		dead = NOBODY
	   }
	:: atomic { status == running && over -> end(); again_or_failed() }
#endif
	od
}

/* Time goes by, a process dies, and somebody retries what has failed. */
proctype world() {
	do
	:: ENDED -> break
	:: atomic { status == running && !over -> over = true }
	:: up[0] -> up[0] = false
	:: atomic { status == failed && retries < RETRIES ->
		retries++;
		status = pending;
		worker = NOBODY;
		uncounted = attempt
	   }
	od
}

init {
	byte w, s;
	atomic {
		for (w : 0 .. WORKERS - 1) {
			up[w] = true;
			for (s : 1 .. SLOTS) { run slot(w) }
		}
		w = 0;
		s = 0;
		run rescuer();
		run world()
	}
}
