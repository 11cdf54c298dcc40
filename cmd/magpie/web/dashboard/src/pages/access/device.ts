// most is the maximum length of a device's name, in characters. The service has the same for links that go through it.
const most = 100;

// deviceName returns the name of a device from a link, which anybody may have made: on one line, without characters that are
// invisible or reorder the text, and of a length that hides nothing else. It is null if nothing is left.
export function deviceName(text: string | null): string | null {
  const line = (text ?? '').replace(/\s+/gu, ' ').replace(/\p{C}/gu, '').trim();
  const characters = Array.from(line);
  return (characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : line) || null;
}
