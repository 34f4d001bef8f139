import { ActionIcon, Menu, useMantineColorScheme } from '@mantine/core';
import { logOut, useAccount } from '../service/session.ts';
import { addresses } from '../shell/addresses.ts';
import { useGo, usePalette } from '../shell/link.tsx';
import { Icon } from '../theme/icons.tsx';
import { type Language, languages, useLanguage, useWords } from '../words/index.ts';
import { useChooseLanguage } from '../words/language.ts';
import { AsOfButton } from './as-of-button.tsx';
import styles from './head.module.css';

/** The bar above each page: search, the moment that is shown, the user. */
export function Head({ openMenu }: { openMenu: () => void }) {
  const { shell } = useWords();
  const openPalette = usePalette();
  return (
    <header className={styles.head}>
      <ActionIcon className={styles.menu} variant="subtle" color="gray" onClick={openMenu} aria-label={shell.menu}>
        <Icon name="menu" />
      </ActionIcon>
      <button type="button" className={styles.search} onClick={openPalette}>
        <Icon name="search" size={16} />
        <span>{shell.search}</span>
        <kbd>{isMac() ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <div className={styles.right}>
        <AsOfButton />
        <AccountMenu />
      </div>
    </header>
  );
}

function isMac(): boolean {
  return /mac|iphone|ipad/i.test(navigator.userAgent);
}

const schemes = [
  ['light', 'sun'],
  ['dark', 'moon'],
  ['auto', 'global'],
] as const;

function AccountMenu() {
  const { shell } = useWords();
  const { user } = useAccount();
  const go = useGo();
  const language = useLanguage();
  const choose = useChooseLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const nameOf = { light: shell.light, dark: shell.dark, auto: shell.system };
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={shell.signedInAs(user.email)}>
          <Icon name="person" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item leftSection={<Icon name="person" size={16} />} onClick={() => go(addresses.me)}>
          {shell.me}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{shell.theme}</Menu.Label>
        {schemes.map(([scheme, icon]) => (
          <Menu.Item
            key={scheme}
            leftSection={<Icon name={icon} size={16} />}
            rightSection={scheme === colorScheme ? <Icon name="check" size={16} /> : null}
            aria-current={scheme === colorScheme}
            onClick={() => setColorScheme(scheme)}
          >
            {nameOf[scheme]}
          </Menu.Item>
        ))}
        <Menu.Label>{shell.language}</Menu.Label>
        {Object.entries(languages).map(([code, name]) => (
          <Menu.Item
            key={code}
            lang={code}
            rightSection={code === language ? <Icon name="check" size={16} /> : null}
            aria-current={code === language}
            onClick={() => choose(code as Language)}
          >
            {name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void logOut()}>{shell.logOut}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
