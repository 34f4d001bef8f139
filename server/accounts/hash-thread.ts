import bcrypt from 'bcrypt';
import { messageOf } from '../../storage/errors.ts';
import { parent } from '../platform/parent.ts';
import { stepBack } from '../platform/priority.ts';

/** A request to a hash worker. `work`: the cost that every comparison takes, whatever the cost of the hash. */
export type HashRequest =
  | { kind: 'hash'; password: string; cost: number }
  | { kind: 'compare'; password: string; hash: string; work: number };

/** The hash of a password, or whether a password is right; or the error. */
export type HashAnswer = { value: string | boolean } | { failure: string };

const main = parent();
const wellFormed = /^\$2[ab]\$\d\d\$[./A-Za-z0-9]{53}$/;

main.on('message', (request: HashRequest) => main.postMessage(answer(request)));

function answer(request: HashRequest): HashAnswer {
  try {
    return { value: request.kind === 'hash' ? bcrypt.hashSync(request.password, request.cost) : compare(request) };
  } catch (error) {
    return { failure: messageOf(error) };
  }
}

/**
 * Compares a password in the time of the highest cost. A hash from before the cost was raised would be compared sooner,
 * which would reveal that there is such an account. Costs are powers of two: one comparison of cost 10 and hashes of
 * cost 10 and 11 are the work of cost 12.
 */
function compare({ password, hash, work }: Extract<HashRequest, { kind: 'compare' }>): boolean {
  // bcrypt would answer at once that the password is wrong.
  if (!wellFormed.test(hash)) throw new Error('the stored hash of a password is not a bcrypt hash');
  const isRight = bcrypt.compareSync(password, hash);
  for (let cost = bcrypt.getRounds(hash); cost < work; cost += 1) bcrypt.hashSync(password, cost);
  return isRight;
}

// A lower priority than the threads that answer requests, and the writer: a login may wait for a read.
stepBack(10);
