export const collectionRoutes = [] as const;
