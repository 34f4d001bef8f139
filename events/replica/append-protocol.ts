import type { Shipment } from '../log/shipment.ts';
import type { BatchResult, PreparedBatch } from '../log/sqlite-log.ts';
import type { OutdatedError } from './outdated.ts';
import type { TakenLog } from './shared-log.ts';

/** A shipment that may have been appended, and the result that is true if it was. */
type Doubt = { result: BatchResult; shipment: Shipment };

/** The states of an append to a log that several nodes share, each with the data that are known in it. */
type States = {
  /** The log is not taken, and has nothing of this append. Each append begins here. */
  free: object;
  /** The log is not taken, and may have the shipment of this append, now or later. */
  doubted: { doubt: Doubt };
  /** The log is taken and has nothing of this append; the replica lacks its end. */
  taken: { taken: TakenLog };
  /** The log is taken and may have the shipment; the replica lacks its end. */
  suspect: { taken: TakenLog; doubt: Doubt };
  /**
   * The log has nothing of this append, and the replica has all of the log. With `outdated` the replica has all before
   * an event that this node may not take.
   */
  level: { taken: TakenLog; outdated: OutdatedError | null };
  /** The events are in a transaction of the replica that is open, and not in the log. */
  prepared: { taken: TakenLog; prepared: PreparedBatch };
  /** The events are durable in the log, and in a transaction of the replica that is open. */
  shipped: { prepared: PreparedBatch };
  /** The events are in the log and the replica, and not in the read tables. */
  committed: { result: BatchResult };
  /** The result is in the log, where all can see it; a failover may lose it still. */
  visible: { taken: TakenLog; result: BatchResult };
};

/** The ends of an append. */
type Ends = {
  /** The result is durable, and is returned. */
  settled: { result: BatchResult };
  /** Nothing was appended, or this node cannot go on; the error is thrown as it is. */
  failed: { error: unknown };
  /** Something may have been appended; the error is thrown as an UnknownShipmentError. */
  unknown: { error: unknown };
};

export type State = keyof States;
export type End = keyof Ends;

/** The events of each state. Each state has `fails`: its step has thrown. */
type Events = {
  free: 'takes' | 'fails';
  doubted: 'takes' | 'fails';
  taken: 'isOvertaken' | 'catchesUp' | 'fails';
  suspect: 'isOvertaken' | 'catchesUp' | 'findsIt' | 'fails';
  level: 'prepares' | 'hasNothing' | 'repeats' | 'fails';
  prepared: 'ships' | 'losesAnswer' | 'isLate' | 'fails';
  shipped: 'commits' | 'fails';
  committed: 'applies' | 'fails';
  visible: 'confirms' | 'fails';
};

/** The protocol: the next state or the end, by state and event. README.md of this folder explains each cell. */
export const transitions = {
  free: { takes: 'taken', fails: 'failed' },
  doubted: { takes: 'suspect', fails: 'unknown' },
  taken: { isOvertaken: 'free', catchesUp: 'level', fails: 'failed' },
  suspect: { isOvertaken: 'doubted', catchesUp: 'level', findsIt: 'visible', fails: 'unknown' },
  level: { prepares: 'prepared', hasNothing: 'settled', repeats: 'visible', fails: 'failed' },
  prepared: { ships: 'shipped', losesAnswer: 'doubted', isLate: 'unknown', fails: 'failed' },
  shipped: { commits: 'committed', fails: 'unknown' },
  committed: { applies: 'settled', fails: 'failed' },
  visible: { confirms: 'settled', fails: 'unknown' },
} as const satisfies { [S in State]: Record<Events[S], State | End> };

type StateData = States & Ends;

/** A state or an end, with its data. */
export type Position<S extends State | End = State | End> = { [P in S]: { state: P; known: StateData[P] } }[S];

/** The event that a step of a state has led to, with the data of the next state. */
type Outcome<S extends State> = {
  [E in Exclude<keyof (typeof transitions)[S], 'fails'>]: {
    event: E;
    known: StateData[(typeof transitions)[S][E] & keyof StateData];
  };
}[Exclude<keyof (typeof transitions)[S], 'fails'>];

/** The step of each state. A step that throws has ended that the log is taken. */
export type Steps<Context> = { [S in State]: (context: Context, known: States[S]) => Promise<Outcome<S>> };

/** Runs the step of a state. */
export async function advance<Context, S extends State>(
  steps: Steps<Context>,
  context: Context,
  { state, known }: { state: S; known: States[S] },
): Promise<Position> {
  const row: Record<string, State | End> = transitions[state];
  try {
    const outcome = await steps[state](context, known);
    // The type of a step ties its event to the data of the next state.
    return { state: row[outcome.event as string], known: outcome.known } as Position;
  } catch (error) {
    return { state: row.fails, known: { error } } as Position;
  }
}

/** Whether an append goes on from a position. */
export function isState(at: Position): at is Position<State> {
  return at.state in transitions;
}

/** Whether an append uses the replica in a state: nothing else may write to it meanwhile. */
export function usesReplica({ state }: Position<State>): boolean {
  return state !== 'free' && state !== 'doubted';
}
