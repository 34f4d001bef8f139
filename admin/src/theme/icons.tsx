/** The lines of each icon, in a box of 24 by 24. */
const paths = {
  home: 'M4 11l8-7 8 7v9h-5v-6H9v6H4z',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  document: 'M7 3h7l4 4v14H7zM14 3v4h4',
  global: 'M12 3a9 9 0 100 18 9 9 0 000-18M3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  media: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6',
  people: 'M9 11a4 4 0 100-8 4 4 0 000 8M2 21c0-4 3-6 7-6s7 2 7 6M17 11a3.5 3.5 0 000-7M22 20c0-3-2-5-4-5.5',
  person: 'M12 11a4 4 0 100-8 4 4 0 000 8M4 21c0-4 4-6 8-6s8 2 8 6',
  key: 'M14 10a4 4 0 108 0 4 4 0 00-8 0M14 10H3v4h3v-2h3v3',
  search: 'M11 4a7 7 0 100 14 7 7 0 000-14M16 16l5 5',
  clock: 'M12 3a9 9 0 100 18 9 9 0 000-18M12 7v5l3 2',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 13l4 4L19 7',
  up: 'M6 15l6-6 6 6',
  down: 'M6 9l6 6 6-6',
  left: 'M15 6l-6 6 6 6',
  right: 'M9 6l6 6-6 6',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  menu: 'M4 6h16M4 12h16M4 18h16',
  filter: 'M4 6h16M7 12h10M10 18h4',
  columns: 'M4 5h16v14H4zM10 5v14M15 5v14',
  download: 'M12 4v11M7 11l5 5 5-5M4 20h16',
  upload: 'M12 16V5M7 9l5-5 5 5M4 20h16',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  drag: 'M9 6h.01M9 12h.01M9 18h.01M15 6h.01M15 12h.01M15 18h.01',
  link: 'M10 14a4 4 0 006 0l3-3a4 4 0 00-6-6l-1 1M14 10a4 4 0 00-6 0l-3 3a4 4 0 006 6l1-1',
  open: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  eye: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12M12 9a3 3 0 100 6 3 3 0 000-6',
  history: 'M4 12a8 8 0 108-8 8 8 0 00-7 4M4 4v4h4M12 8v4l3 2',
  restore: 'M9 5L4 10l5 5M4 10h10a6 6 0 010 12h-3',
  sun: 'M12 8a4 4 0 100 8 4 4 0 000-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5',
  moon: 'M20 14a8 8 0 01-10-10 8 8 0 1010 10',
  lock: 'M6 11h12v10H6zM8 11V7a4 4 0 018 0v4',
  warning: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  info: 'M12 3a9 9 0 100 18 9 9 0 000-18M12 11v5M12 8h.01',
  star: 'M12 4l2.5 5 5.5.8-4 3.9 1 5.5-5-2.6-5 2.6 1-5.5-4-3.9 5.5-.8z',
  bold: 'M7 5h6a3.5 3.5 0 010 7H7zM7 12h7a3.5 3.5 0 010 7H7z',
  italic: 'M10 5h8M6 19h8M14 5l-4 14',
  underline: 'M7 4v7a5 5 0 0010 0V4M6 20h12',
  strike: 'M4 12h16M16 7c-1-2-2.5-3-4-3-2.5 0-4 1.5-4 3.5 0 1 .5 2 1.5 2.7M8 17c1 2 2.5 3 4.3 3 2.5 0 4.2-1.5 4.2-3.7',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
  numbers: 'M10 6h10M10 12h10M10 18h10M4 5l1.5-1v5M4 15.5c1-1.5 3-1 2.5.5L4 19.5h3',
  quote: 'M10 6C6 7 4 10 4 14v4h6v-6H6M20 6c-4 1-6 4-6 8v4h6v-6h-4',
  codeBlock: 'M4 4h16v16H4zM10 9l-3 3 3 3M14 9l3 3-3 3',
  rule: 'M4 12h16M7 5h10M7 19h10',
  undo: 'M8 5L4 9l4 4M4 9h10a5 5 0 010 10h-4',
  redo: 'M16 5l4 4-4 4M20 9H10a5 5 0 000 10h4',
  video: 'M4 6h11v12H4zM15 11l5-3v8l-5-3',
  audio: 'M9 18V6l10-2v12M6.5 20.5a2.5 2.5 0 100-5 2.5 2.5 0 000 5M16.5 18.5a2.5 2.5 0 100-5 2.5 2.5 0 000 5',
  refresh: 'M20 12a8 8 0 11-2.3-5.7L20 8M20 4v4h-4',
  send: 'M21 3L10 14M21 3l-7 18-4-7-7-4z',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** An icon. It is hidden from screen readers, so the text beside it has to say the same. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
