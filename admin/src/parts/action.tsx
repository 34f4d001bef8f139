import { ActionIcon } from '@mantine/core';
import { Icon, type IconName } from '../theme/icons.tsx';

/** A small button of an item. A button that is off keeps the focus. */
export function Action(props: { icon: IconName; label: string; isOff?: boolean; act: () => void }) {
  const { icon, label, isOff = false, act } = props;
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="md"
      aria-label={label}
      title={label}
      aria-disabled={isOff || undefined}
      data-off={isOff || undefined}
      onClick={({ currentTarget }) => {
        if (isOff) return;
        act();
        // An element that moves within the document loses the focus.
        requestAnimationFrame(() => currentTarget.isConnected && currentTarget.focus());
      }}
    >
      <Icon name={icon} size={16} />
    </ActionIcon>
  );
}
