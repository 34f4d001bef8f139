import { counted } from '../../../config/counted.ts';
import type { Range } from './filters.ts';

/**
 * The version of what packs and exports hold for readers: how `summary.html`, `README.txt`, CSV and CloudEvents are
 * written (docs/log-format.md). Annals-verify makes them again and compares bytes, so a change to one raises it, and
 * teaches that the new one beside the old.
 */
export const textsVersion = 1;

/** The facts in the README of an export. */
type ExportAbout = Range & { origin: string; withPayloads: boolean; madeAt: Date };

/**
 * The README of an export, for readers who are not developers. Its head depends on the export: annals-verify makes that
 * again, and knows the rest by its SHA-256.
 */
export function exportReadme({ origin, from, to, filters, withPayloads, madeAt }: ExportAbout): string {
  const chosen = Object.entries(filters).map(([name, value]) => `${name} = ${value}`);
  const what = chosen.length === 0 ? 'every event' : `the events with ${chosen.join(', ')}`;
  return `AN EXPORT OF A RECORD OF CHANGES
================================

The service "${origin}" keeps a log of everything that is done in it. This is a copy of a
part of that log: ${what} from number ${from} to number ${to}, made on
${madeAt.toISOString()} (UTC).${to < from ? ' There are none in that range.' : ''}
${withPayloads ? '' : 'What the changes said is left out: whoever asked for this may see only that they took place.\n'}${exportText}`;
}

/** The facts in the README of a bundle. */
type BundleAbout = { origin: string; stream: string; versions: number; signedAt: string };

/** The README of a bundle, for readers who are not developers; its head and the rest are as those of an export's. */
export function bundleReadme({ origin, stream, versions, signedAt }: BundleAbout): string {
  return `AN EVIDENCE PACK
================

The service "${origin}" keeps a log of everything that is done in it. This is all of it about
"${stream}": ${counted(versions, 'event')}, up to the checkpoint that the service signed on
${signedAt} (UTC).
${bundleText}`;
}

const steps = `How to check it, in two steps
-----------------------------
1. Get the public key of the service and the program annals-verify.mjs from somebody you trust, not
   from this archive: what is in here came from the one who is to be checked. The key is a text that
   begins with "annals/". Install Node.js (https://nodejs.org), version 22.2 or newer.
2. Open a terminal in the folder of this archive, and type, with the key between the apostrophes:

     node annals-verify.mjs --key 'annals/...' FILE.zip

   The last line says whether it is sound, and what exactly that means. If it is not, the event or the
   file that is wrong is named.`;

const exportText = `
What is in here
---------------
- events.ndjson: one event per line, as JSON. "header" says what happened, when, to what and by whom;
  "payload" holds what it said and why. These are the exact texts that the log holds, and the proofs
  are about them.
- events.csv, if it was asked for: the same for spreadsheets, one event per row. A cell that a
  spreadsheet could take for a formula begins with an apostrophe (').
- events.cloudevents.ndjson, if it was asked for: the same for other systems, one event per line, in the
  JSON format of CloudEvents 1.0.
- manifest.json: what this export covers, and the proofs.
- annals-verify.mjs: a program that checks the proofs.

${steps}

What that proves
----------------
- That each of these events is in the log, with this text, time and author. Of an export of every event
  from one number to another, also that this is their order, and that none is left out; of a selection,
  not that none that fits was left out: export the whole range for that.
- That events.csv and events.cloudevents.ndjson say the same as events.ndjson: annals-verify.mjs makes
  them again from it, and this text too, and compares.
- That nothing of it was changed after the signature was made.
- It does not prove that what was written is true, only that it was recorded so, and when by the
  clock of the service. When this export was made is not proven.
- Whoever has the key of the service could have made up another log. What excludes that is a copy of
  an earlier signed checkpoint that was kept somewhere else. So keep the checkpoint of this export
  ("checkpoint" in manifest.json) for the next time.
- "erased": what an event said was removed for good, by an erasure that is itself on record.
  "withheld": whoever asked for this may not see what it said. That the event took place is proven
  all the same.
`;

const bundleText = `
What is in here
---------------
- summary.html: who changed what, when and why. Open it in a browser, or print it. BEGIN HERE.
- bundle.json: the same, as the exact texts that the log holds, and the proofs.
- checkpoint.txt: what the service signed: how many events its log has, and their fingerprint.
- files: the uploaded files that it named, each under its fingerprint (SHA-256), unless they were left
  out or are lost: bundle.json says so.
- annals-verify.mjs: a program that checks the proofs.

${steps}

What that proves
----------------
- That these events are in the log, with these texts, times and authors, and that none between them is
  left out; and that the document they make is the one in bundle.json.
- That summary.html says what these events say: annals-verify.mjs makes it again from them, and this
  text too, and compares. Only when the checkpoint was signed is not proven.
- That nothing of it was changed after the signature was made.
- Whether there was a later event when the signature was made: bundle.json says so where it holds what
  is needed to know ("rest"), and annals-verify.mjs tells.
- It does not prove that what was written is true, only that it was recorded so, and when by the
  clock of the service.
- Whoever has the key of the service could have made up another log. What excludes that is a copy of
  an earlier signed checkpoint that was kept somewhere else. So keep checkpoint.txt for the next time.
- "Erased": what an event said was removed for good, by an erasure that is itself on record.
`;
