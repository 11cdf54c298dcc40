// Days in the person's time zone.

const key = 'magpie-time-zone';

// timeZone returns the person's time zone; undefined is that of the browser.
export const timeZone = () => localStorage.getItem(key) ?? undefined;

// setTimeZone remembers the time zone of dates; null is that of the browser.
export function setTimeZone(name: string | null) {
  if (name) localStorage.setItem(key, name);
  else localStorage.removeItem(key);
}

// wallClock returns what the clocks of the zone show at a time, as if it were a time in UTC.
function wallClock(time: number): number {
  const format = new Intl.DateTimeFormat('en', {
    timeZone: timeZone(),
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const part = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)])) as Record<string, number>;
  const { year = 0, month = 1, day = 1, hour, minute, second } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

// dayOf returns the day of a time, such as 2026-01-31.
export function dayOf(time: string | number): string {
  return new Date(wallClock(new Date(time).getTime())).toISOString().slice(0, 10);
}

// startOf returns when a day begins, and with days, so many days later; null if it is none.
export function startOf(day: string, days = 0): string | null {
  const wanted = Date.parse(`${day}T00:00:00Z`) + days * 86_400_000;
  if (Number.isNaN(wanted)) return null;
  // The difference to UTC may be another one at the wanted time than at the first guess.
  let time = wanted;
  for (let n = 0; n < 2; n++) time = wanted - (wallClock(time) - time);
  return new Date(time).toISOString();
}

// endOf returns the last second of a day; null if it is none.
export function endOf(day: string): string | null {
  const next = startOf(day, 1);
  return next && new Date(Date.parse(next) - 1000).toISOString();
}
