// Values of the addresses of these pages.

// The first steps.
export const steps = ['source', 'sync', 'search', 'publish'] as const;
export type Step = (typeof steps)[number];

// The programs whose lines the page of applications shows.
export const clientNames = ['claudeCode', 'cursor', 'vscode', 'local'] as const;
export type ClientName = (typeof clientNames)[number];
