/** The name an arm has in the environment of an app (ARM of apps/hop.js). */
export const armVariable = (arm: string): string => (arm === 'naive timeout' ? 'naive' : arm)
