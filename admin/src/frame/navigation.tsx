import type { ReactNode } from 'react';
import { useRoute } from 'wouter';
import { groupsOf, type Model } from '../schema/model.ts';
import { useModel } from '../service/model.tsx';
import { addresses } from '../shell/addresses.ts';
import { Link, usePalette } from '../shell/link.tsx';
import { Icon, type IconName } from '../theme/icons.tsx';
import { useWords } from '../words/index.ts';
import styles from './navigation.module.css';

/** The links to all pages that the user may see. */
export function Navigation() {
  const { shell } = useWords();
  const model = useModel();
  return (
    <nav className={styles.navigation} aria-label={shell.navigation}>
      <Link to={addresses.home} className={styles.brand}>
        {model.logo === null ? <Mark /> : <img src={model.logo} alt="" height="24" />}
        <span>{model.title}</span>
      </Link>
      <List>
        <Item to={addresses.home} icon="home">
          {shell.home}
        </Item>
        {hasUploads(model) && (
          <Item to={addresses.media} icon="media">
            {shell.media}
          </Item>
        )}
      </List>
      {groupsOf(model).map((group) => (
        <section key={group.name ?? ''}>
          <h2>{group.name ?? shell.content}</h2>
          <List>
            {group.collections.map(({ slug, plural }) => (
              <Item key={slug} to={addresses.list(slug)} icon="list">
                {plural}
              </Item>
            ))}
            {group.globals.map(({ slug, label }) => (
              <Item key={slug} to={addresses.global(slug)} icon="document">
                {label}
              </Item>
            ))}
          </List>
        </section>
      ))}
      <List isLast>
        {accounts(model).map(({ slug, plural }) => (
          <Item key={slug} to={addresses.people(slug)} icon="people">
            {plural}
          </Item>
        ))}
        {model.managesKeys && (
          <Item to={addresses.keys} icon="key">
            {shell.keys}
          </Item>
        )}
        <Item to={addresses.trash} icon="trash">
          {shell.trash}
        </Item>
      </List>
    </nav>
  );
}

/** The bar at the bottom of a phone. */
export function BottomBar({ openMenu }: { openMenu: () => void }) {
  const { shell } = useWords();
  const openPalette = usePalette();
  return (
    <nav className={styles.bottom} aria-label={shell.menu}>
      <Link to={addresses.home}>
        <Icon name="home" />
        {shell.home}
      </Link>
      <button type="button" onClick={openMenu}>
        <Icon name="list" />
        {shell.content}
      </button>
      <button type="button" onClick={openPalette}>
        <Icon name="search" />
        {shell.search}
      </button>
      <Link to={addresses.me}>
        <Icon name="person" />
        {shell.me}
      </Link>
    </nav>
  );
}

function hasUploads(model: Model): boolean {
  return model.collections.values().some(({ upload, access }) => upload && access.read);
}

function accounts(model: Model) {
  return [...model.collections.values()].filter(({ isAuth, access }) => isAuth && access.read);
}

function List({ children, isLast = false }: { children: ReactNode; isLast?: boolean }) {
  return <ul className={isLast ? styles.last : undefined}>{children}</ul>;
}

function Item({ to, icon, children }: { to: string; icon: IconName; children: ReactNode }) {
  const [isHere] = useRoute(to === '/' ? '/' : `${to}/*?`);
  return (
    <li>
      <Link to={to} className={styles.item} aria-current={isHere ? 'page' : undefined}>
        <Icon name={icon} size={16} />
        <span>{children}</span>
      </Link>
    </li>
  );
}

/** The mark of the product, shown if the configuration has no logo. */
function Mark() {
  return (
    <svg width="24" height="24" viewBox="0 0 32 32" aria-hidden="true" className={styles.mark}>
      <rect width="32" height="32" rx="7" />
      <path d="M8 24 14.4 8h3.2L24 24M10.4 18.4h11.2" />
    </svg>
  );
}
