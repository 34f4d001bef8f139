import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Model } from '../../config/model.ts';
import { verifyTransport } from '../../server/accounts/mail/login.ts';
import { safeLength } from '../../server/running/warnings.ts';
import type { Settings } from '../../server/settings/settings.ts';
import { messageOf } from '../../storage/errors.ts';
import { readHolder } from '../../storage/holder.ts';
import { type DoctorFinding, note, ok, trouble } from './findings.ts';

/** With fewer characters, a guess may succeed. */
const shortestKey = 16;

/** Checks the length of the secrets that were given. Generated secrets are long enough. */
export function checkSecrets({ secrets, apiKeys }: Settings): DoctorFinding {
  const short = [
    ...(secrets.some(({ length }) => length < safeLength) ? [`a secret is shorter than ${safeLength} characters`] : []),
    ...(apiKeys.some(({ length }) => length < shortestKey)
      ? [`an API key is shorter than ${shortestKey} characters`]
      : []),
  ];
  if (short.length > 0) return trouble('secrets', `${short.join(' and ')}: it can be guessed`);
  return ok('secrets', secrets.length + apiKeys.length === 0 ? 'they are generated' : 'they are long enough');
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
const patienceMilliseconds = 5000;

/** Checks that the base URL is set and leads to the service, if that runs. */
export async function checkBaseUrl({ baseUrl, data }: Settings): Promise<DoctorFinding> {
  if (baseUrl === undefined)
    return note(
      'base URL',
      'ANNALS_BASE_URL is not set: links in mails lead to the address that the service listens on',
    );
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol === 'http:' && !loopback.test(hostname))
    return trouble('base URL', `${baseUrl} is not https: passwords and tokens can be read on their way`);
  if (!readHolder(data)) return note('base URL', `${baseUrl} was not called, for no service runs`);
  const answer = await statusAt(`${baseUrl}/health`);
  if (answer === 200) return ok('base URL', `${baseUrl} leads to a service`);
  return trouble('base URL', `${baseUrl}/health does not lead to the service: ${answer}`);
}

async function statusAt(address: string): Promise<number | string> {
  const url = new URL(address);
  const { get } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  try {
    const outgoing = get(url, { agent: false, signal: AbortSignal.timeout(patienceMilliseconds) });
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode === 200 ? 200 : `it answers ${response.statusCode}`;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Checks that the mail server takes the login; sends nothing.
 *
 * @param model null if the configuration cannot be loaded.
 */
export async function checkMail({ smtpUrl }: Settings, model: Model | null): Promise<DoctorFinding> {
  if (!model) return note('mail', 'the configuration cannot be loaded: annals config check says why');
  if (model.adminCollection === null && ![...model.collections.values()].some(({ auth }) => auth))
    return ok('mail', 'no collection has accounts: no mail is sent');
  const transport = smtpUrl ?? model.email?.transport;
  if (transport === undefined)
    return note('mail', 'no mail server is set: invitations and password resets are not sent');
  try {
    const isKnown = await verifyTransport(transport);
    return isKnown ? ok('mail', 'the mail server takes the login') : note('mail', 'the transport cannot be asked');
  } catch (error) {
    return trouble('mail', `the mail server does not take the login: ${messageOf(error)}`);
  }
}
