/* A job's life among workers that crash, stop for longer than their lease and resume: claim, extend, finish, release,
   rescue and retry by hand, as the statements in sql/queries do them. Each write is one atomic step, as a transaction
   is; any other step may happen in between. check.sh searches every state.

   It asserts these promises:
   - an attempt begins once (begun), and ends once (ended);
   - a finishing write is accepted only from the holder of the job (holding), and a rescue takes a job only from a worker
     that is gone or whose lease is over;
   - no job is lost: some worker can always claim, finish or rescue a job that has not ended. spin reports a search that
     gets stuck before as an invalid end state.

   Defining one of NO_FENCE, NO_ATTEMPT, NO_STATUS, FALLING, NO_RESCUE or HASTY removes a safeguard; then it must fail. */

#define WORKERS 2 /* processes, the first of which may die */
#define SLOTS 2   /* concurrent jobs of each */
#define MOST 2    /* attempts that count: max_attempts */
#define RELEASES 1
#define RETRIES 1 /* by hand */
#define NUMBERS 8 /* attempt numbers, from 1; more than there can be */
#define NO_WORKER 255

mtype = { pending, running, done, failed };

/* The row in table jobs. */
mtype status = pending;
byte attempt;
byte uncounted;
byte worker = NO_WORKER; /* worker_id */
bool over;            /* lease_until has passed */

/* The world. */
bool up[WORKERS];     /* the process lives: no other can take its lock */
byte releases;
byte retries;

/* The true state, which no process can see. */
byte holding = NO_WORKER; /* the slot whose attempt it is */
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
	holding = NO_WORKER;
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
	:: else -> status = pending; worker = NO_WORKER
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
		assert(holding == NO_WORKER);
		holding = _pid
	   }
	fi;
	/* The handler runs here, and may be stopped for any time. */
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
	:: atomic { up[me] -> /* ReturnJob after an error, EndJob */
		if
		:: HELD -> accepted(); again_or_failed()
		:: else -> skip
		fi;
		mine = 0;
		goto claim
	   }
	:: atomic { up[me] && releases < RELEASES -> /* ReturnJob of a release or a snooze */
		releases++;
		if
		:: HELD ->
			accepted();
			status = pending;
			worker = NO_WORKER;
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

/* A live worker looks for dead ones, and for leases that are over. Which one it is makes no difference:
   its writes compare no state of that worker. */
proctype rescuer() {
	byte dead = NO_WORKER;
	do
	:: ENDED -> break
#ifndef NO_RESCUE
#ifdef HASTY
	:: atomic { status == running -> dead = worker }; /* as on boot, without a check of the lock */
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
		dead = NO_WORKER
	   }
	:: atomic { status == running && over -> end(); again_or_failed() }
#endif
	od
}

/* Time passes, a process dies, and a person retries a failed job. */
proctype world() {
	do
	:: ENDED -> break
	:: atomic { status == running && !over -> over = true }
	:: up[0] -> up[0] = false
	:: atomic { status == failed && retries < RETRIES ->
		retries++;
		status = pending;
		worker = NO_WORKER;
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
