export const insightRoutes = [] as const;
