import type { Filters } from './filters.ts';
import type { ExportFormat } from './formats.ts';

/** What is said of an export. */
export type ExportAbout = {
  origin: string;
  format: ExportFormat;
  file: string;
  from: number;
  to: number;
  filters: Filters;
  withPayloads: boolean;
  madeAt: Date;
};

const contents: Record<ExportFormat, string> = {
  ndjson: `one event per line, as JSON. "header" says what happened, when, to what and by whom;
  "payload" holds what it said and why. These are the exact texts that the log holds.`,
  csv: `one event per row, for spreadsheets. A cell that a spreadsheet could take for a
  formula begins with an apostrophe ('). The exact texts are in the NDJSON format.`,
  cloudevents: `one event per line, in the JSON format of CloudEvents 1.0.`,
};

/** The README of an export, for somebody who is no developer. */
export function exportReadme({ origin, format, file, from, to, filters, withPayloads, madeAt }: ExportAbout): string {
  const chosen = Object.entries(filters).map(([name, value]) => `${name} = ${value}`);
  const what = chosen.length === 0 ? 'every event' : `the events with ${chosen.join(', ')}`;
  return `AN EXPORT OF A RECORD OF CHANGES
================================

The service "${origin}" keeps a log of everything that is done in it. This is a copy of a
part of that log: ${what} from number ${from} to number ${to}, made on
${madeAt.toISOString()} (UTC).${to < from ? ' There are none in that range.' : ''}

What is in here
---------------
- ${file}: ${contents[format]}
- manifest.json: what this export covers, and the proofs.
- annals-verify.mjs: a program that checks the proofs.
${withPayloads ? '' : '\nWhat the changes said is left out: whoever asked for this may see only that they took place.\n'}
${steps}

What that proves
----------------
${proves(format, chosen.length === 0)}
- It also shows that nothing of it was changed after the signature was made.
- It does not prove that what was written is true, only that it was recorded so, and when by the
  clock of the service.
- Whoever has the key of the service could have made up another log. What excludes that is a copy of
  an earlier signed checkpoint that was kept somewhere else. So keep the checkpoint of this export
  ("checkpoint" in manifest.json) for the next time.
- "erased": what an event said was removed for good, by an erasure that is itself on record.
  "withheld": whoever asked for this may not see what it said. That the event took place is proven
  all the same.
`;
}

function proves(format: ExportFormat, isWhole: boolean): string {
  if (isWhole && format === 'ndjson') {
    return `- That these events are in the log, in this order and with these texts, and that none is left out.`;
  }
  if (isWhole) {
    return `- That these events took place in this order, with these times and authors, and that none is left out.
  What they said ("data", "reason") is not proven in this format: take NDJSON for that.`;
  }
  const single = `- That none that fits was left out is not proven by a selection: export the whole range for that.`;
  if (format === 'ndjson') return `- That each of these events is in the log, with this text.\n${single}`;
  return `- Of a selection in this format, only that the file is the one that the manifest describes. Take NDJSON for proofs.
${single}`;
}

const steps = `How to check it, in two steps
-----------------------------
1. Get the public key of the service and the program annals-verify.mjs from somebody you trust, not
   from this archive: what is in here came from the one who is to be checked. The key is a text that
   begins with "annals/". Install Node.js (https://nodejs.org), version 22.2 or newer.
2. Open a terminal in the folder of this archive, and type, with the key between the apostrophes:

     node annals-verify.mjs --key 'annals/...' FILE.zip

   The last line says whether it is sound, and what exactly that means. If it is not, the first event
   that is wrong is named.`;

/** What is said of a bundle. */
export type BundleAbout = { origin: string; stream: string; versions: number; signedAt: string; withFiles: boolean };

/** The README of a bundle, for somebody who is no developer. */
export function bundleReadme({ origin, stream, versions, signedAt, withFiles }: BundleAbout): string {
  return `AN EVIDENCE PACK
================

The service "${origin}" keeps a log of everything that is done in it. This is all of it about
"${stream}": ${versions} ${versions === 1 ? 'event' : 'events'}, up to the checkpoint that the service signed on
${signedAt} (UTC).

What is in here
---------------
- summary.html: who changed what, when and why. Open it in a browser, or print it. BEGIN HERE.
- bundle.json: the same, as the exact texts that the log holds, and the proofs.
- checkpoint.txt: what the service signed: how many events its log has, and their fingerprint.
- files: the uploaded files that it named, each under its fingerprint (SHA-256).${withFiles ? '' : ' They were left out.'}
- annals-verify.mjs: a program that checks the proofs.

${steps}

What that proves
----------------
- That these events are in the log, with these texts, times and authors, and that none between them is
  left out; and that the document they make is the one in bundle.json.
- That nothing of it was changed after the signature was made.
- Whether there was a later event when the signature was made: bundle.json says so where it holds what
  is needed to know ("rest"), and annals-verify.mjs tells.
- summary.html and this text are for reading and are not proven: what counts is bundle.json.
- It does not prove that what was written is true, only that it was recorded so, and when by the
  clock of the service.
- Whoever has the key of the service could have made up another log. What excludes that is a copy of
  an earlier signed checkpoint that was kept somewhere else. So keep checkpoint.txt for the next time.
- "Erased": what an event said was removed for good, by an erasure that is itself on record.
`;
}
