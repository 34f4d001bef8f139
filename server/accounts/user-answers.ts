import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { App } from '../app.ts';
import { setCookie } from '../callers/cookies.ts';
import type { AuthTarget } from '../callers/sessions.ts';
import { tokenFor } from '../callers/tokens.ts';
import { unstored } from '../callers/vary.ts';
import { sendText } from '../documents/read/sending.ts';
import { serializerFor } from '../documents/read/serialize.ts';
import type { LoginAnswer } from '../openapi/answers.ts';

/** A session, by its id and the id of its user. */
type SessionRef = { id: string; sid: string };

/** Prepares the answers of an auth collection that show users their own document. */
export function userAnswersOf(app: App, target: AuthTarget) {
  const present = serializerFor(app, target);

  /** The user's own document, as any reader sees it, with relations to a depth. */
  async function userText(request: Request, id: string, depth = 0): Promise<string> {
    const text = target.documents.text(id);
    // The user was deleted after the credential was checked.
    if (text === null) throw new DomainError('invalid_token', 'the token is not valid, or its session has ended');
    return present.text(request, text, { depth, select: null });
  }

  /** Answers with `{ token, user }` (contract, section 2.6), and sets the cookie if the collection has cookies. */
  async function sendSession(request: Request, h: ResponseToolkit, { id, sid }: SessionRef): Promise<ResponseObject> {
    const token = tokenFor(app, target, { id, sid });
    setCookie(h, app, { model: target.model, token });
    const members: Record<keyof LoginAnswer<unknown>, string> = {
      token: JSON.stringify(token),
      user: await userText(request, id),
    };
    const text = Object.entries(members).map(([name, value]) => `"${name}":${value}`);
    return unstored(sendText(h, `{${text.join()}}`));
  }

  return { userText, sendSession };
}
