// Keys that work on every page.

type Pressed = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'target'>;

// isSlash reports whether a key press is a slash that is not typed into a field. Many keyboards have it above a digit, so it
// may be typed with Shift.
export function isSlash({ key, ctrlKey, metaKey, altKey, target }: Pressed): boolean {
  if (key !== '/' || ctrlKey || metaKey || altKey) return false;
  const { tagName = '', isContentEditable = false } = (target ?? {}) as Partial<HTMLElement>;
  return !isContentEditable && !['INPUT', 'TEXTAREA', 'SELECT'].includes(tagName);
}
