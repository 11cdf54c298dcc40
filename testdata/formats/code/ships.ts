export interface Ship { name: string; metres: number }

/** Counts the ships that are longer than a length. */
export function longer(ships: Ship[], metres: number): number {
  return ships.filter((ship) => ship.metres > metres).length
}
