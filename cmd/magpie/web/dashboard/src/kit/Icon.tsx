// Icons of the dashboard: strokes on a field of 24 by 24.
const paths = {
  search: 'M10.5 17a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13ZM15.5 15.5 20 20',
  ask: 'M4 5h16v11H9l-5 4V5ZM8 9h8M8 12h5',
  agent: 'M7 8h10a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2ZM12 8V4M9 13h.01M15 13h.01M2 13v3M22 13v3',
  collection: 'M4 5h6v6H4zM14 5h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  connector: 'M8 3v5M16 3v5M6 8h12v4a6 6 0 0 1-12 0V8ZM12 18v3',
  document: 'M6 3h8l4 4v14H6V3ZM14 3v4h4M9 12h6M9 16h6',
  database: 'M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3ZM4 6v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3',
  chart: 'M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6',
  key: 'M14 10a4 4 0 1 1-8 0 4 4 0 0 1 8 0ZM14 10h7M18 10v4',
  widget: 'M4 5h16v14H4zM4 9h16M7 7h.01',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20c0-3.6 2.9-6 6.5-6s6.5 2.4 6.5 6M16 4.5a3.5 3.5 0 0 1 0 6M18 14.5c2.1.8 3.5 2.8 3.5 5.5',
  audit: 'M5 4h14v16H5zM9 8h6M9 12h6M9 16h3',
  gauge: 'M4 18a8.5 8.5 0 1 1 16 0M12 14l4-5',
  approval: 'M4 12l5 5L20 6',
  automation: 'M13 3 5 13h6l-1 8 8-11h-6l1-7Z',
  tool: 'M14 6a4 4 0 0 0 5 5l-9 9-4-4 9-9ZM6.5 17.5h.01',
  application: 'M4 4h16v6H4zM4 14h7v6H4zM15 14h5v6h-5z',
  system: 'M4 5h16v5H4zM4 14h16v5H4zM8 7.5h.01M8 16.5h.01',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 21c0-4 3.6-6.5 8-6.5s8 2.5 8 6.5',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6 6 18',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  refresh: 'M20 5v5h-5M4 19v-5h5M19 10a7.5 7.5 0 0 0-13-3M5 14a7.5 7.5 0 0 0 13 3',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 4.5v15l12-7.5-12-7.5Z',
  stop: 'M6 6h12v12H6z',
  copy: 'M8 8h12v12H8zM16 8V4H4v12h4',
  check: 'M5 12.5 10 17 19 7',
  warning: 'M12 3.5 2.5 20h19L12 3.5ZM12 10v4M12 17h.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 11v5M12 8h.01',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  edit: 'M4 20h4L19 9l-4-4L4 16v4ZM13 7l4 4',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  filter: 'M3 5h18l-7 8v6l-4 1v-7L3 5Z',
  upload: 'M12 16V4M7 9l5-5 5 5M4 20h16',
  download: 'M12 4v12M7 11l5 5 5-5M4 20h16',
  thumbUp: 'M7 11v9H4v-9h3ZM7 11l4-8c1.5 0 2.5 1 2.5 2.5V9H19a2 2 0 0 1 2 2.3l-1.2 7A2 2 0 0 1 17.8 20H7',
  thumbDown: 'M17 13V4h3v9h-3ZM17 13l-4 8c-1.5 0-2.5-1-2.5-2.5V15H5a2 2 0 0 1-2-2.3l1.2-7A2 2 0 0 1 6.2 4H17',
  chevron: 'M9 5l7 7-7 7',
  down: 'M5 9l7 7 7-7',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  folder: 'M3 6h6l2 2h10v11H3V6Z',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2v2M12 20v2M4 12H2M22 12h-2M5 5l1.5 1.5M17.5 17.5 19 19M19 5l-1.5 1.5M6.5 17.5 5 19',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z',
  signOut: 'M10 4H4v16h6M14 8l4 4-4 4M18 12H9',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3 2',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12ZM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z',
  bell: 'M6 17V11a6 6 0 0 1 12 0v6l1.5 2h-15L6 17ZM10 21h4',
  home: 'M4 11l8-7 8 7v9h-5v-6H9v6H4v-9Z',
  mail: 'M3 6h18v12H3zM3 7l9 6 9-6',
} as const;

export type IconName = keyof typeof paths;

// Icon is decoration: what it stands for is written beside it, or is the label of its
// button.
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      style={{ flex: 'none' }}
    >
      <path d={paths[name]} />
    </svg>
  );
}
