import assert from 'node:assert/strict';
import { followLog, type Recorded } from '../helpers/recorded.ts';
import type { Answer } from '../helpers/service.ts';

/**
 * What a successful call of each kind of operation that is no GET records: the types of the events in their order, first those that
 * some call of every such operation must have recorded, then what else it may be. A refused call records nothing, and so does a GET.
 */
const recorded: Record<string, readonly string[]> = {
  create: ['document.created', 'document.created password.changed'],
  update: ['document.updated', ''],
  delete: ['document.deleted'],
  restore: ['document.restored', ''],
  updateGlobal: ['global.updated', ''],
  restoreGlobal: ['global.restored', ''],
  login: ['login.succeeded session.started'],
  logout: ['session.revoked'],
  refreshToken: ['session.refreshed'],
  endSession: ['session.revoked'],
  invite: ['invite.created'],
  acceptInvite: ['x'],
  createFirstUser: ['x'],
  forgotPassword: ['', 'password.reset.requested'],
  resetPassword: ['password.changed'],
  keepPreview: [''],
};

/** What is recorded by calls that are refused all the same: failed logins are counted. */
const recordedRefusals: Record<string, readonly string[]> = {
  login: ['login.failed', 'login.failed account.locked'],
};
