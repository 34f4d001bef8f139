import { Drawer } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { Palette } from '../pages/palette/palette.tsx';
import { ModelProvider } from '../service/model.tsx';
import { ErrorBoundary } from '../shell/error-boundary.tsx';
import { PaletteContext } from '../shell/link.tsx';
import { Loading } from '../shell/loading.tsx';
import { Failure } from '../shell/page.tsx';
import { useWords } from '../words/index.ts';
import { AsOfBand } from './as-of-band.tsx';
import styles from './frame.module.css';
import { Head } from './head.tsx';
import { BottomBar, Navigation } from './navigation.tsx';
import { Routes } from './routes.tsx';

/** The frame of all pages behind the login: navigation, head, and the page itself. */
export function Frame() {
  return (
    <ModelProvider loading={<Loading />} failed={(error) => <Failure error={error} again={() => location.reload()} />}>
      <Layout />
    </ModelProvider>
  );
}

function Layout() {
  const { shell } = useWords();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [address] = useLocation();
  const content = useRef<HTMLElement>(null);
  const before = useRef(address);
  useEffect(() => {
    setMenuOpen(false);
    content.current?.scrollTo(0, 0);
    // The control with the focus went away with the previous page: the keyboard continues in this page.
    if (before.current !== address && document.activeElement === document.body) {
      content.current?.focus({ preventScroll: true });
    }
    before.current = address;
  }, [address]);
  return (
    <PaletteContext value={() => setPaletteOpen(true)}>
      <button type="button" className={styles.skip} onClick={() => content.current?.focus()}>
        {shell.skip}
      </button>
      <div className={styles.frame}>
        <aside className={styles.side}>
          <Navigation />
        </aside>
        <div className={styles.column}>
          <Head openMenu={() => setMenuOpen(true)} />
          <AsOfBand />
          <main id="content" className={styles.content} ref={content} tabIndex={-1}>
            <ErrorBoundary key={address}>
              <Routes />
            </ErrorBoundary>
          </main>
        </div>
        <BottomBar openMenu={() => setMenuOpen(true)} />
      </div>
      <Drawer
        opened={isMenuOpen}
        onClose={() => setMenuOpen(false)}
        position="left"
        size="17rem"
        title={shell.menu}
        closeButtonProps={{ 'aria-label': shell.menu }}
      >
        <Navigation />
      </Drawer>
      <Palette isOpen={isPaletteOpen} setOpen={setPaletteOpen} />
    </PaletteContext>
  );
}
