export const peopleRoutes = [] as const;
