export const workspaceRoutes = [] as const;
