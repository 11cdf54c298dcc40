// The styles of an alert that must be seen: white on a red that is the same in light and dark.
export const loud = {
  root: { background: 'var(--mantine-color-red-9)' },
  label: { color: 'var(--mantine-color-white)' },
  icon: { color: 'var(--mantine-color-white)' },
  message: { color: 'var(--mantine-color-white)' },
};
