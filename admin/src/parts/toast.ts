import { notifications } from '@mantine/notifications';
import { messageOf } from '../service/queries.ts';

/** Shows in a corner that an action is done. */
export function tell(message: string): void {
  notifications.show({ message });
}

/** Shows an error in a corner. It stays longer, because it takes longer to read. */
export function tellError(error: unknown): void {
  warn(messageOf(error));
}

/** Shows in a corner what is wrong, in words of the application. */
export function warn(message: string): void {
  notifications.show({ message, color: 'red', autoClose: 12_000 });
}
