import { ActionIcon, Button, Menu } from '@mantine/core';
import { Icon, type IconName } from '../../../theme/icons.tsx';
import { useWords } from '../../../words/index.ts';
import type { LineDialog, Publishing } from './use-publishing.ts';

type ButtonProps = { publish: () => void; isBusy: boolean; isNeeded: boolean };

/** The button that publishes what is in the form. */
export function PublishButton({ publish, isBusy, isNeeded }: ButtonProps) {
  const { drafts } = useWords();
  return (
    <Button
      onClick={publish}
      variant={isNeeded ? 'filled' : 'default'}
      data-saving={isBusy || undefined}
      data-publish=""
    >
      {isBusy ? drafts.publishing : drafts.publish}
    </Button>
  );
}

/** The other actions on the lines of a document, in a menu. */
export function PublishMenu({ publishing: { lines, open } }: { publishing: Publishing }) {
  const { drafts } = useWords();
  const { actions } = lines;
  const items: { name: string; icon: IconName; dialog: LineDialog }[] = [];
  if (actions.discard) items.push({ name: drafts.discardIt, icon: 'undo', dialog: 'discard' });
  if (actions.unpublish) items.push({ name: drafts.unpublishIt, icon: 'lock', dialog: 'unpublish' });
  if (items.length === 0) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size="lg" aria-label={drafts.more} title={drafts.more}>
          <Icon name="down" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {items.map(({ name, icon, dialog }) => (
          <Menu.Item key={name} leftSection={<Icon name={icon} size={16} />} onClick={() => open(dialog)}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
