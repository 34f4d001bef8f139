import { createTheme, localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { storageName } from '../service/place.ts';
import { useWords } from '../words/index.ts';
import './mantine.ts';
import './tokens.css';
import './base.css';
import './forced-colors.css';

/** The head of a dialog is not the banner of the page. */
const attributes = { header: { role: 'presentation' } };

/** Colours are in tokens.css: the content security policy forbids inline styles, by which a theme sets variables. */
const themeOf = (close: string) =>
  createTheme({
    cursorType: 'pointer',
    defaultRadius: 'sm',
    respectReducedMotion: true,
    components: {
      Modal: { defaultProps: { lockScroll: false, centered: true, attributes } },
      Checkbox: { defaultProps: { radius: 4 } },
      Badge: { defaultProps: { tt: 'none', fw: 600 } },
      Drawer: { defaultProps: { lockScroll: false, position: 'right', attributes } },
      // Inside the landmark of its button, and without an element that has no role among its items.
      Menu: { defaultProps: { withinPortal: false, withInitialFocusPlaceholder: false } },
      Notification: { defaultProps: { closeButtonProps: { 'aria-label': close } } },
      Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
    },
  });

const schemes = localStorageColorSchemeManager({ key: storageName('theme') });

/** The look of the application. */
export function ThemeProvider({ children }: { children: ReactNode }) {
  const { shared } = useWords();
  const theme = useMemo(() => themeOf(shared.close), [shared.close]);
  return (
    <MantineProvider
      theme={theme}
      colorSchemeManager={schemes}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      {children}
    </MantineProvider>
  );
}
