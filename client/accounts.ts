import { segment } from './address.ts';
import { isObject } from './answers.ts';
import type { Caller } from './calls.ts';
import { isPage } from './documents.ts';
import { ApiError } from './errors.ts';
import type { CallOptions, OnceOptions } from './options.ts';
import type { Login } from './types/answers.ts';
import type { Accounts } from './types/collections.ts';
import type { AnyConfig } from './types/config.ts';

/** The calls about accounts. A call that begins a session stores the token in the client. */
export function accountsOf({ bodyOf, session }: Caller, slug: string) {
  const path = `/api/collections/${slug}`;

  /** Makes a call that ignores the login: a 401 says nothing about the present session. */
  function send<T>(route: string, data: object, options?: CallOptions): Promise<T> {
    return bodyOf<T>({ method: 'POST', path: `${path}/${route}`, data, options, isPublic: true });
  }

  async function begin(route: string, data: object, options?: CallOptions): Promise<Login<unknown>> {
    const call = { method: 'POST', path: `${path}/${route}`, data, options, isPublic: true, gives: isLogin } as const;
    const answer = await bodyOf<Login<unknown>>(call);
    session.set(answer.token);
    return answer;
  }

  return {
    login: (credentials: object, options?: CallOptions) => begin('login', credentials, options),
    async logout(options?: CallOptions) {
      const token = session.get();
      try {
        // A caller that is logged out already gets a 401, so the call may be repeated.
        await bodyOf({ method: 'POST', path: `${path}/logout`, options, isRepeatable: true, isLogin: true });
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 401)) throw error;
      }
      session.replace(token, null);
    },
    me: (options?: CallOptions) => bodyOf({ method: 'GET', path: `${path}/me`, options }),
    async refreshToken(options?: CallOptions) {
      const token = session.get();
      const call = { method: 'POST', path: `${path}/refresh-token`, options, gives: isLogin } as const;
      const answer = await bodyOf<{ token: string }>(call);
      session.replace(token, answer.token);
      return answer;
    },
    sessions: (options?: object) => bodyOf({ method: 'GET', path: `${path}/sessions`, options, gives: isPage }),
    endOwnSession: (sid: string, options?: CallOptions) =>
      bodyOf({ method: 'DELETE', path: `${path}/sessions/${segment('the id of a session', sid)}`, options }),
    invite: (data: object, options?: OnceOptions) =>
      bodyOf({ method: 'POST', path: `${path}/invite`, data, options, isKeyed: true }),
    invitations: (options?: object) => bodyOf({ method: 'GET', path: `${path}/invitations`, options, gives: isPage }),
    invitation: async (id: string, options?: CallOptions) =>
      bodyOf({ method: 'GET', path: `${path}/invitations/${segment('the id of an invitation', id)}`, options }),
    withdrawInvitation: (id: string, options?: CallOptions) =>
      bodyOf({ method: 'DELETE', path: `${path}/invitations/${segment('the id of an invitation', id)}`, options }),
    account: (id: string, options?: CallOptions) =>
      bodyOf({ method: 'GET', path: `${path}/${segment('id', id)}/account`, options }),
    unlock: (id: string, options?: CallOptions) =>
      bodyOf({ method: 'POST', path: `${path}/${segment('id', id)}/unlock`, options, isRepeatable: true }),
    endSession: (id: string, sid: string, options?: CallOptions) => {
      const session = segment('the id of a session', sid);
      return bodyOf({ method: 'DELETE', path: `${path}/${segment('id', id)}/sessions/${session}`, options });
    },
    acceptInvite: (data: object, options?: CallOptions) => begin('accept-invite', data, options),
    forgotPassword: (data: object, options?: CallOptions) => send('forgot-password', data, options),
    resetPassword: (data: object, options?: CallOptions) => send('reset-password', data, options),
    async isInitialized(options?: CallOptions) {
      const call = { method: 'GET', path: `${path}/init`, options, isPublic: true } as const;
      return (await bodyOf<{ initialized: boolean }>(call)).initialized;
    },
    createFirstUser: (data: object, options?: CallOptions) => begin('first-user', data, options),
  } satisfies Record<keyof Accounts<AnyConfig, string>, unknown>;
}

/** Without this check the client would keep a wrong token and send it with every later call. */
function isLogin(body: unknown): boolean {
  return isObject(body) && typeof body.token === 'string' && body.token !== '';
}
