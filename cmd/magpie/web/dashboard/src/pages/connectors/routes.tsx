export const connectorRoutes = [] as const;
