import { notifications } from '@mantine/notifications';
import { messageOf } from '../service/queries.ts';

/** Tells in a corner that something is done. */
export function tell(message: string): void {
  notifications.show({ message });
}

/** Tells in a corner what did not succeed; it stays longer, for it is read. */
export function tellError(error: unknown): void {
  warn(messageOf(error));
}

/** Tells in a corner what is wrong, in words of the application. */
export function warn(message: string): void {
  notifications.show({ message, color: 'red', autoClose: 12_000 });
}
