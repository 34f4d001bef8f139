import { ActionIcon } from '@mantine/core';
import { Icon, type IconName } from '../theme/icons.tsx';

/** A small button of an item. One that can do nothing now keeps the focus that it has. */
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
        // An element that is put elsewhere loses the focus.
        requestAnimationFrame(() => currentTarget.isConnected && currentTarget.focus());
      }}
    >
      <Icon name={icon} size={16} />
    </ActionIcon>
  );
}
